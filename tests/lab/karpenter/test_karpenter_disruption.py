"""Nodes that go again: empty, fragmented, drifted, interrupted; and what never ends.

These wait for Karpenter's own pauses of ten and fifteen seconds, so they run only where
EKS_GPUSHARE_TEST_KARPENTER is set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from karpenter_scene import NODES, POOLS, Case, Scene, until

from eks_gpushare_lab.cloud.settings import CloudSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        sharing: {mode: timeSlicing, replicas: 4}
        karpenter: {consolidateAfter: 1s, budgets: [{nodes: 100%}]}
      plain: {<<: *slices, sharing: {mode: timeSlicing, replicas: 4, rename: false}}
      whole: {<<: *slices, sharing: {mode: exclusive}}
      spot: {<<: *slices, instanceTypes: [g5.xlarge, g6.xlarge], capacityType: spot}
      drifts: &drifts
        <<: *slices
        karpenter: {consolidateAfter: Never, budgets: [{nodes: 1}]}
      ages: *drifts
"""
SETTINGS = CloudSettings(start=0.3, notice=60)
SHARED, GPU = "nvidia.com/gpu.shared", "nvidia.com/gpu"


def policy(name: str) -> Callable[[Object], None]:
    """A NodePool that is consolidated otherwise."""

    def edit(pool: Object) -> None:
        pool["spec"]["disruption"]["consolidationPolicy"] = name

    return edit


def start(scene: Scene, cases: dict[str, Case], seconds: float = 240) -> None:
    scene.start(cases)
    scene.settle(cases, seconds=seconds, rest=2)
    for name, case in cases.items():
        assert (len(scene.nodes(name)), scene.running(name)) == (case.nodes, case.running), name


def on_nodes(scene: Scene, name: str) -> dict[str, list[str]]:
    """Running pods of a case by node."""
    found: dict[str, list[str]] = {}
    for pod in scene.session.watches.pods.all():
        labels = pod["metadata"].get("labels") or {}
        if labels.get("case") == name and pod["spec"].get("nodeName"):
            found.setdefault(pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
    return found


def leave(scene: Scene, name: str, each: int) -> None:
    """Delete pods of a case so that so many are left on each node, and nobody makes others."""
    pods = on_nodes(scene, name)
    path = f"/apis/apps/v1/namespaces/default/deployments/{name}"
    orphan = {"propagationPolicy": "Orphan"}
    scene.client.request("DELETE", path, query=orphan)
    for given in scene.client.list("/apis/apps/v1/namespaces/default/replicasets")[0]:
        if given["metadata"]["name"].startswith(f"{name}-"):
            given_path = f"/apis/apps/v1/namespaces/default/replicasets/{given['metadata']['name']}"
            scene.client.request("DELETE", given_path, query=orphan)
    for names in pods.values():
        for pod in names[each:]:
            scene.client.delete(f"/api/v1/namespaces/default/pods/{pod}")


def are_on_one_node(scene: Scene, name: str) -> bool:
    return len(scene.nodes(name)) == 1 and scene.running(name) == 3


def states(scene: Scene, name: str) -> Sequence[dict[str, Any]]:
    return [each for each in scene.launched(name) if each["ended"] is None]


def test_from_zero_and_back_to_zero(scene: Scene) -> None:
    start(scene, {"zero": Case("slices", 10, SHARED, nodes=3)})
    scene.scale("zero", 0)
    assert until(lambda: not scene.nodes("zero") and not states(scene, "zero"), 240)
    scene.scale("zero", 5)
    assert until(lambda: scene.running("zero") == 5, 120)
    assert len(scene.launched("zero")) == 3 + 2


def test_when_empty_moves_no_running_pod_and_the_other_policies_do(scene: Scene) -> None:
    cases = {
        "stays": Case("slices", 12, SHARED, nodes=3),
        "moves": Case("slices", 12, SHARED, nodes=3, edit=policy("WhenEmptyOrUnderutilized")),
        "balances": Case("slices", 12, SHARED, nodes=3, edit=policy("Balanced")),
    }
    start(scene, cases)
    before = on_nodes(scene, "stays")
    scene.scale("moves", 3)
    scene.scale("balances", 3)
    leave(scene, "stays", 1)
    for name in ("moves", "balances"):
        assert until(lambda: are_on_one_node(scene, name), 240), name  # noqa: B023  (at once)
    assert len(scene.nodes("stays")) == 3
    after = on_nodes(scene, "stays")
    assert {node: len(pods) for node, pods in after.items()} == dict.fromkeys(before, 1)


def test_a_pod_that_is_not_to_be_disrupted_holds_its_node(scene: Scene) -> None:
    moved = policy("WhenEmptyOrUnderutilized")
    cases = {name: Case("slices", 12, SHARED, nodes=3, edit=moved) for name in ("held", "free")}
    start(scene, cases)
    annotated = {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}
    for pods in on_nodes(scene, "held").values():
        for pod in pods:
            scene.client.patch(f"/api/v1/namespaces/default/pods/{pod}", annotated)
    leave(scene, "held", 1)
    scene.scale("free", 3)
    assert until(lambda: are_on_one_node(scene, "free"), 240)
    assert len(scene.nodes("held")) == 3


@pytest.mark.parametrize(
    ("pool", "changed"),
    [
        ("drifts", {"userData": "#!/bin/bash\necho another\n"}),
        ("ages", {"amiSelectorTerms": [{"alias": "al2023@v20261014"}]}),
    ],
)
def test_other_user_data_or_image_replaces_nodes_one_at_a_time(
    scene: Scene, pool: str, changed: dict[str, Any]
) -> None:
    start(scene, {pool: Case(pool, 12, SHARED, nodes=3)})
    first = {each["id"] for each in states(scene, pool)}
    most, fewest = 3, 12
    path = f"/apis/karpenter.k8s.aws/v1/ec2nodeclasses/{pool}"
    scene.client.patch(path, {"spec": changed})

    def replaced() -> bool:
        nonlocal most, fewest
        most = max(most, len(states(scene, pool)))
        fewest = min(fewest, scene.running(pool))
        there = {each["id"] for each in states(scene, pool)}
        return not there & first and scene.running(pool) == 12

    assert until(replaced, 400)
    assert until(lambda: len(scene.nodes(pool)) == 3, 60)
    assert most <= 4
    assert fewest >= 8


def test_a_spot_interruption_drains_and_replaces(scene: Scene) -> None:
    start(scene, {"spot": Case("spot", 4, SHARED, nodes=1)})
    (old,) = states(scene, "spot")
    assert old["capacityType"] == "spot"
    assert scene.cloud.interrupt(old["id"]), "no rule of the stack tells Karpenter"
    assert until(
        lambda: (
            scene.running("spot") == 4 and old["id"] not in {e["id"] for e in states(scene, "spot")}
        ),
        120,
    )
    (new,) = states(scene, "spot")
    assert (new["instanceType"], new["zone"]) != (old["instanceType"], old["zone"])


def test_a_promise_that_one_gpu_is_ten_never_ends(scene: Scene) -> None:
    """A node for each pod, one after the other."""
    runaway = Case(
        "plain",
        4,
        GPU,
        nodes=4,
        overlay={"g5.xlarge": {GPU: 10}},
        labels={"nvidia.com/device-plugin.config": "whole"},
    )
    scene.pool("runaway", runaway)
    scene.await_ready()
    scene.pods("runaway", 4, GPU)
    assert until(lambda: scene.running("runaway") == 4, 240)
    assert len(scene.launched("runaway")) == 4


def test_nothing_is_left_of_a_pool_that_goes(scene: Scene) -> None:
    start(scene, {"goes": Case("slices", 4, SHARED, nodes=1)})
    scene.client.delete(f"{POOLS}/goes")
    assert until(lambda: not scene.nodes("goes") and not states(scene, "goes"), 120)
    # Karpenter lets go of a claim when EC2 has told it that the instance has ended.
    assert until(lambda: not scene.claims("goes"), 60)
    assert all(node["metadata"]["name"] for node in scene.client.list(NODES)[0])
