"""Nodes whose shares come late: the plugin is slow, or MIG manager cuts the GPUs first.

Karpenter takes a node for empty only from when it is initialised, and that is when what its pods
asked for is there: so no consolidateAfter is too short for a plugin. These run only where
EKS_GPUSHARE_TEST_KARPENTER is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from karpenter_scene import NODES, Case, Scene, until

from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.reporting.agreements import agreement_findings

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="EKS_GPUSHARE_TEST_KARPENTER is not set",
)

POOLS_OF_STACK = """
      slices: &slices
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 50}
        sharing: {mode: timeSlicing, replicas: 10, rename: true}
        karpenter: {consolidateAfter: 1s, budgets: [{nodes: 100%}]}
      plain: {<<: *slices, sharing: {mode: timeSlicing, replicas: 10, rename: false}}
      cut:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-balanced, apply: migManager}
      waits:
        <<: *slices
        karpenter:
          consolidateAfter: 1s
          startupTaints: [{key: example.com/not-yet, effect: NoSchedule}]
    gpuStack: {manager: gpuOperator}
"""
PLUGIN_SECONDS = 20.0
SETTINGS = CloudSettings(start=4, plugin=PLUGIN_SECONDS)
GPU, SHARED, SMALL = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
STARTUP, NOT_YET = "eks-gpushare/mig-layout", "example.com/not-yet"
FIRST, MORE = 5, 8

CASES = {
    "slices": Case("slices", 25, SHARED, nodes=3),
    "plain": Case("plain", 25, GPU, nodes=3),
    "cut": Case("cut", 20, SMALL, nodes=2),
    "grows": Case("slices", FIRST + MORE, SHARED, nodes=2),
    # What takes its taint away waits for shares, and their plugin for the taint.
    "waits": Case("waits", 5, SHARED, nodes=1, runs=0),
}


@pytest.fixture(scope="module")
def late(scene: Scene) -> Scene:
    for name, case in CASES.items():
        scene.pool(name, case)
    scene.await_ready()
    for name, case in CASES.items():
        scene.pods(name, FIRST if name == "grows" else case.pods, case.resource)
    # More pods come while the first node boots.
    assert until(lambda: bool(scene.launched("grows")), 60)
    assert not scene.nodes("grows")
    scene.scale("grows", FIRST + MORE)
    tainted(scene)
    scene.settle(CASES, seconds=240, rest=15, meanwhile=lambda: tainted(scene))
    return scene


SEEN: dict[str, set[str]] = {}
"""By case, the startup taints that its nodes were seen with."""


def tainted(scene: Scene) -> None:
    for name in CASES:
        keys = {t["key"] for node in scene.nodes(name) for t in node["spec"].get("taints") or ()}
        SEEN.setdefault(name, set()).update(keys & {STARTUP, NOT_YET})


@pytest.mark.parametrize("name", CASES)
def test_as_many_nodes_come_as_without_the_delay_and_none_goes(late: Scene, name: str) -> None:
    case = CASES[name]
    launched = late.launched(name)
    assert len(launched) == case.nodes, late.words(name)
    assert [each["id"] for each in launched if each["ended"] is not None] == []
    assert late.running(name) == case.running


def test_the_shares_were_late(late: Scene) -> None:
    """Else nothing of this is shown."""
    for name in ("slices", "plain"):
        record = late.session.scaling.history.record_of(late.nodes(name)[0]["metadata"]["name"])
        assert record is not None
        assert record.ready is not None
        assert record.joined is not None
        assert record.ready - record.joined >= PLUGIN_SECONDS / 2


def test_mig_manager_takes_the_startup_taint_away(late: Scene) -> None:
    assert SEEN["cut"] == {STARTUP}
    for node in late.nodes("cut"):
        assert node["status"]["allocatable"][SMALL] == "16"
        assert STARTUP not in [each["key"] for each in node["spec"].get("taints") or ()]
    assert {condition(each, "Initialized") for each in late.claims("cut")} == {("True", "")}


def condition(claim: Object, kind: str) -> tuple[str, str]:
    (found,) = [each for each in claim["status"]["conditions"] if each["type"] == kind]
    return found["status"], found["reason"] if found["status"] != "True" else ""


def test_a_plugin_that_does_not_tolerate_a_startup_taint_waits_for_whoever_takes_it(
    late: Scene,
) -> None:
    """So whoever takes it away must not wait for the shares; else the node is never ready."""
    (node,) = late.nodes("waits")
    (claim,) = late.claims("waits")
    assert SHARED not in node["status"]["allocatable"]
    assert condition(claim, "Initialized") == ("Unknown", "StartupTaintsExist")

    left = [each for each in node["spec"]["taints"] if each["key"] != NOT_YET]
    late.client.patch(f"{NODES}/{node['metadata']['name']}", {"spec": {"taints": left}})
    assert until(lambda: late.running("waits") == 5, 120)
    assert len(late.launched("waits")) == 1


def test_nothing_of_this_is_a_finding(late: Scene) -> None:
    late.session.scaling.look()
    late.session.scaling.take_stock()
    assert [(each.code, each.message) for each in agreement_findings(late.session)] == []
