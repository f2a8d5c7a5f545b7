"""What is broken between Karpenter and its nodes is named, as the real controller breaks it.

These run only where EKS_GPUSHARE_TEST_KARPENTER is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from karpenter_scene import OVERLAYS, Case, Scene, until

from eks_gpushare_lab.cloud.settings import CloudSettings
from eks_gpushare_lab.reporting.agreements import agreement_findings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import Finding

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="EKS_GPUSHARE_TEST_KARPENTER is not set",
)

POOLS_OF_STACK = """
      fine: &slices
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 20}
        sharing: {mode: timeSlicing, replicas: 10, rename: true}
        karpenter: {consolidateAfter: Never}
      half-empty: *slices
      one-each: {<<: *slices, sharing: {mode: timeSlicing, replicas: 10, rename: false}}
      unannounced: *slices
      other-name: *slices
      at-its-limit: {<<: *slices, nodes: {max: 2}}
      by-limits: {<<: *slices, karpenter: {limits: {cpu: 8}}}
      goes: {<<: *slices, capacityType: spot, instanceTypes: [g5.xlarge, g6.xlarge, g4dn.xlarge]}
"""
SETTINGS = CloudSettings(start=0.3, notice=0)
SHARED, GPU = "nvidia.com/gpu.shared", "nvidia.com/gpu"
LATE_SECONDS = 15.0
LOST = 2
"""Nodes of the last pool that EC2 takes before any pod has run there."""

CASES = {
    "fine": Case("fine", 25, SHARED, nodes=3),
    "half-empty": Case("half-empty", 10, SHARED, nodes=3),
    "one-each": Case("one-each", 10, GPU, nodes=10),
    "unannounced": Case("unannounced", 10, SHARED, nodes=0),
    "other-name": Case(
        "other-name",
        10,
        SHARED,
        nodes=1,
        runs=0,
        labels={"nvidia.com/device-plugin.config": "one-each"},
    ),
    "at-its-limit": Case("at-its-limit", 25, SHARED, nodes=2, runs=20),
    "by-limits": Case("by-limits", 25, SHARED, nodes=2, runs=20),
}
TOLD: Mapping[str, Mapping[str, int]] = {
    "half-empty": {GPU: 0, SHARED: 4},
    "one-each": {},
    "unannounced": {},
}
"""What Karpenter is told in place of the plan."""


@pytest.fixture(scope="module")
def broken(scene: Scene) -> dict[str, list[Finding]]:
    """Findings by pool."""
    for name, told in TOLD.items():
        path = f"{OVERLAYS}/{name}-g5-xlarge"
        if told:
            capacity = {resource: str(count) for resource, count in told.items()}
            scene.client.patch(path, {"spec": {"capacity": capacity}})
        else:
            scene.client.delete(path)
    scene.start(CASES)
    look = scene.session.scaling.look
    scene.settle(CASES, seconds=200, meanwhile=look)
    for name, case in CASES.items():
        assert (len(scene.nodes(name)), scene.running(name)) == (case.nodes, case.running), name
    lose(scene)
    scene.session.scaling.take_stock()
    found: dict[str, list[Finding]] = {}
    for each in agreement_findings(scene.session):
        found.setdefault(each.path.split(".")[1], []).append(each)
    return found


def lose(scene: Scene) -> None:
    """Spot nodes that go as soon as they are there, since EC2 wants them back."""
    case = Case("goes", 10, SHARED, nodes=1)
    scene.cloud.change(CloudSettings(start=0.3, notice=0, plugin=LATE_SECONDS))
    scene.pool("goes", case)
    scene.await_ready()
    scene.pods("goes", case.pods, case.resource)
    for number in range(LOST):
        wanted = number + 1

        def joined(wanted: int = wanted) -> bool:
            return len([each for each in scene.launched("goes") if each["joined"]]) == wanted

        assert until(joined, 120), scene.words("goes")
        assert until(lambda: len(scene.nodes("goes")) == 1, 60)
        last = scene.launched("goes")[-1]
        assert scene.cloud.interrupt(last["id"])
        assert until(lambda: scene.launched("goes")[number]["ended"] is not None, 60)  # noqa: B023
        scene.session.scaling.look()
    assert until(lambda: scene.running("goes") == case.pods, 120)
    scene.session.scaling.look()


def codes(found: Mapping[str, list[Finding]], pool: str) -> list[str]:
    return sorted({each.code for each in found.get(pool, ())})


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ("fine", []),
        ("half-empty", ["GPU965", "GPU966"]),
        ("one-each", ["GPU962", "GPU965"]),
        ("unannounced", ["GPU965", "GPU968"]),
        ("other-name", ["GPU961", "GPU965"]),
        ("at-its-limit", ["GPU967"]),
        ("by-limits", ["GPU967"]),
        ("goes", ["GPU963"]),
    ],
)
def test_what_is_broken_is_named(
    broken: dict[str, list[Finding]], pool: str, expected: list[str]
) -> None:
    said = {each.code: each.message for each in broken.get(pool, ())}
    assert codes(broken, pool) == expected, said


@pytest.mark.parametrize(
    ("pool", "code", "words"),
    [
        ("half-empty", "GPU966", "3 nodes with 30 shares run 10 pods; 1 node would do"),
        ("one-each", "GPU962", "runaway: 10 nodes for 10 pods"),
        ("at-its-limit", "GPU967", "nvidia.com/gpu.shared is limited to 20: 2 nodes have 20"),
        ("by-limits", "GPU967", "cpu is limited to 8: 2 nodes have 8"),
        ("other-name", "GPU961", "never initialised"),
        ("goes", "GPU963", "launches and removes"),
    ],
)
def test_it_says_by_how_much(
    broken: dict[str, list[Finding]], pool: str, code: str, words: str
) -> None:
    (found,) = [each for each in broken[pool] if each.code == code]
    assert found.message.startswith(words)
