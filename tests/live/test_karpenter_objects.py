"""What Karpenter says of its own objects, and whether they are what the stack declares."""

from __future__ import annotations

import copy
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import GPU, LONG_AGO, objects_of

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live import node_pool_limits
from eks_gpushare.live.checks.node_pools import is_at_limit, node_pool_drift, unready_faults
from eks_gpushare.live.faults import pool_mark
from eks_gpushare.live.node_pool_limits import reached_limit, room_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.live.test_faults import Object

    from eks_gpushare.live.faults import ClusterFault

STACK = read_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.spot-fallback.yaml")
UNREADY = {"type": "Ready", "status": "False", "lastTransitionTime": LONG_AGO}


def node_pool(name: str) -> Object:
    plan = STACK.plans[name]
    types = {"key": "node.kubernetes.io/instance-type", "operator": "In"}
    spec = {
        "nodeClassRef": {"kind": "EC2NodeClass", "name": name},
        "requirements": [types | {"values": [*plan.pool.instance_types]}],
        "taints": [
            {"key": each.key, "value": each.value, "effect": each.effect} for each in plan.taints
        ],
    }
    template = {"metadata": {"labels": dict(plan.labels)}, "spec": spec}
    return karpenter("NodePool", name, {"template": template})


def karpenter(kind: str, name: str, spec: dict[str, Any], *conditions: Object) -> Object:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        "status": {"conditions": [*conditions]},
    }


def words(found: Iterable[ClusterFault]) -> list[str]:
    return [each.finding.message for each in found]


def drift(*pools: Object, **unread: str) -> list[ClusterFault]:
    return list(node_pool_drift(objects_of([*pools], **unread), STACK.plans))


def changed(**of_template: Any) -> Object:
    made = copy.deepcopy(node_pool("spot"))
    made["spec"]["template"]["spec"] |= of_template
    return made


def test_node_pools_as_their_pools_declare_them_are_no_finding() -> None:
    assert drift(node_pool("spot"), node_pool("on-demand")) == []


def test_a_node_pool_that_is_missing_is_told() -> None:
    (found,) = drift(node_pool("on-demand"))

    assert words([found]) == [
        "The NodePool spot is not there, so that no node of pools.spot comes."
    ]
    assert found.finding.code == "GPU1374"
    assert found.nodes == {pool_mark("spot")}


def test_node_pools_that_may_not_be_read_are_not_missing() -> None:
    assert drift(NodePool="forbidden") == []
    assert drift(node_pool("spot"), NodePool="one of them is odd") == []
    assert drift() == []


def test_where_there_are_none_all_are_missing() -> None:
    none = replace(objects_of([]), by_kind={"NodePool": ()})

    assert len(list(node_pool_drift(none, STACK.plans))) == 2


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (changed(taints=[]), "lacks the taint nvidia.com/gpu=true:NoSchedule"),
        (
            changed(
                taints=[
                    *node_pool("spot")["spec"]["template"]["spec"]["taints"],
                    {"key": "team", "effect": "NoExecute"},
                ]
            ),
            "gives the taint team:NoExecute, which the stack does not declare",
        ),
        (
            changed(
                requirements=[
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g6.xlarge", "p5.48xlarge"],
                    }
                ]
            ),
            "launches p5.48xlarge where the stack declares g5.xlarge, g6.xlarge",
        ),
    ],
)
def test_what_the_next_nodes_have_is_held_against_the_pool(pool: Object, said: str) -> None:
    assert words(drift(pool, node_pool("on-demand"))) == [
        f"The NodePool spot {said}: so are the nodes that come."
    ]


def test_a_label_of_the_next_nodes_is_held_against_the_pool() -> None:
    other = node_pool("spot")
    other["spec"]["template"]["metadata"]["labels"]["eks-gpushare/pool"] = "x"

    assert words(drift(other, node_pool("on-demand"))) == [
        (
            "The NodePool spot gives eks-gpushare/pool=x where the stack declares "
            "eks-gpushare/pool=spot: so are the nodes that come."
        )
    ]


def test_what_is_not_ready_is_told_once_and_of_the_class_before_its_pool() -> None:
    pool = node_pool("spot")
    pool["status"]["conditions"] = [UNREADY | {"reason": "UnhealthyDependents"}]
    why = {"reason": "SubnetsNotReady", "message": "no subnets match."}
    of_class = karpenter("EC2NodeClass", "spot", {}, UNREADY | why)

    (found,) = unready_faults(objects_of([pool, of_class]))

    assert found.finding.message == (
        "Karpenter cannot work with the EC2NodeClass spot: SubnetsNotReady, no subnets match."
    )
    assert found.finding.code == "GPU1373"
    assert found.nodes == {pool_mark("spot")}
    assert words(unready_faults(objects_of([pool]))) == [
        "Karpenter cannot work with the NodePool spot: UnhealthyDependents."
    ]


def test_the_condition_behind_a_node_pool_that_is_not_ready_is_told() -> None:
    ready = {**UNREADY, "reason": "UnhealthyDependents"}
    pool = karpenter("NodePool", "spot", {}, ready)
    pool["status"]["conditions"] += [
        {"type": "ValidationSucceeded", "status": "True", "reason": "Valid"},
        {"type": "NodeClassReady", "status": "False", "reason": "NodeClassNotFound"},
    ]

    assert words(unready_faults(objects_of([pool]))) == [
        "Karpenter cannot work with the NodePool spot: NodeClassNotFound."
    ]


def test_an_overlay_that_does_not_count_is_told_of_its_pool() -> None:
    wanted = {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["spot"]}
    overlay = karpenter("NodeOverlay", "spot-g5", {"requirements": [wanted]}, UNREADY)

    (found,) = unready_faults(objects_of([overlay]))

    assert found.nodes == {pool_mark("spot")}


@pytest.mark.parametrize(
    "fine",
    [
        {**UNREADY, "status": "True"},
        {**UNREADY, "status": "Unknown"},
        {**UNREADY, "lastTransitionTime": "2026-11-26T18:01:07Z"},
    ],
)
def test_what_is_ready_or_about_to_be_is_no_finding(fine: Object) -> None:
    assert list(unready_faults(objects_of([karpenter("NodePool", "spot", {}, fine)]))) == []


@pytest.mark.parametrize(
    ("has", "full"),
    [({"cpu": "4"}, True), ({"cpu": "3900m"}, False), ({}, False), ({"memory": "9Gi"}, False)],
)
def test_a_node_pool_is_full_once_it_has_all_of_one_resource(
    has: dict[str, str], *, full: bool
) -> None:
    given = karpenter("NodePool", "spot", {"limits": {"cpu": "4"}})
    given["status"]["resources"] = has

    assert is_at_limit(given) is full
    assert not is_at_limit(karpenter("NodePool", "spot", {}))
    assert not is_at_limit(karpenter("NodePool", "spot", {"limits": {"nvidia.com/gpu": "1"}}))


@pytest.mark.parametrize(
    ("has", "limit", "resource"),
    [("8", "10", GPU), ("6", "10", None), ("4", "8", None), ("5", "8", GPU)],
)
def test_a_limit_lets_no_node_come_that_would_pass_it(
    has: str, limit: str, resource: str | None
) -> None:
    """Karpenter launches none above a limit, also where it is not reached yet."""
    given = karpenter("NodePool", "spot", {"limits": {GPU: limit}})
    given["status"]["resources"] = {GPU: has}
    found = reached_limit(given, {"g6.12xlarge": room_of("g6.12xlarge", {GPU: 4})})

    assert (found.resource if found else None) == resource
    smaller = room_of("g6.xlarge", {GPU: 1})
    assert reached_limit(given, {"g6.12xlarge": {GPU: Decimal(4)}, "g6.xlarge": smaller}) is None


def test_a_node_has_what_the_catalog_knows_of_its_machine() -> None:
    """A g6.xlarge has 4 vCPUs, of which EKS reserves 80m, 16 GiB and 58 pods."""
    found = room_of("g6.xlarge", {GPU: 1})

    assert found[GPU] == Decimal(1)
    assert found["cpu"] == Decimal("3.92")
    assert found["pods"] == Decimal(58)
    assert found["memory"] == (16384 - 255 - 100 - 11 * 58) * 1024**2
    assert room_of("nobody.knows", {GPU: 1}) == {GPU: Decimal(1)}


def test_a_machine_of_which_pods_are_not_known_has_as_many_as_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unknown:
        pods, cpu_millis, memory_mib = None, 1000, 1

    monkeypatch.setattr(node_pool_limits, "allocatable", lambda _: Unknown)

    assert room_of("g6.xlarge", {})["pods"] == 110


def test_two_minutes_are_what_karpenter_gets() -> None:
    late = UNREADY | {"lastTransitionTime": "2026-11-26T18:00:07Z"}

    assert len(list(unready_faults(objects_of([karpenter("NodePool", "spot", {}, late)])))) == 1


def test_who_changed_a_node_pool_is_told() -> None:
    other = changed(taints=[])
    wrote = {"manager": "kubectl-edit", "time": LONG_AGO, "fieldsV1": {"f:spec": {}}}
    other["metadata"]["managedFields"] = [wrote]

    (found,) = drift(other, node_pool("on-demand"))
    (unsaid,) = drift(changed(taints=[]), node_pool("on-demand"))
    (missing,) = drift(node_pool("on-demand"))

    assert found.evidence == (f"spec set by kubectl-edit at {LONG_AGO}",)
    assert unsaid.evidence == missing.evidence == ()


def test_other_requirements_say_nothing_of_types() -> None:
    requirements = [
        {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": ["p5.48xlarge"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2a"]},
    ]

    assert drift(changed(requirements=requirements), node_pool("on-demand")) == []
