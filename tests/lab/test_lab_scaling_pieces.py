"""What is made of nodes that come and go, without a control plane: counted, priced, waited for."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from tests.lab.scaling_by_hand import (
    GPU,
    SHARED,
    YES,
    Lab,
    claim,
    group,
    karpenter_lab,
    with_version,
)

from eks_gpushare_lab.observing.autoscalers import AUTOSCALER
from eks_gpushare_lab.observing.declared_pools import DeclaredPool, pool_of
from eks_gpushare_lab.observing.packing import least_nodes
from eks_gpushare_lab.reporting.scaling import PoolReport, pool_reports, price_of

G5 = 1.006
"""USD an hour of one g5.xlarge in us-west-2: https://aws.amazon.com/ec2/pricing/on-demand/."""


def amounts(**given: float) -> dict[str, Decimal]:
    return {name: Decimal(str(amount)) for name, amount in given.items()}


@pytest.mark.parametrize(
    ("pods", "nodes", "least"),
    [
        ([], [amounts(gpu=10)], 0),
        ([amounts(gpu=1)], [amounts(gpu=10)], 1),
        ([amounts(gpu=1)] * 10, [amounts(gpu=10)], 1),
        ([amounts(gpu=1)] * 25, [amounts(gpu=10)], 3),
        ([amounts(gpu=1)] * 300, [amounts(gpu=10)], 30),
        ([amounts(gpu=1, cpu=1)] * 10, [amounts(gpu=10, cpu=4)], 3),
        ([amounts(gpu=3)] * 4, [amounts(gpu=4)], 4),
        ([amounts(gpu=3), amounts(gpu=1)] * 4, [amounts(gpu=4)], 4),
        ([amounts(gpu=11)], [amounts(gpu=10)], None),
        ([amounts(gpu=1)] * 25, [amounts(gpu=10), amounts(gpu=40)], 1),
        ([amounts(other=5)] * 3 + [amounts(gpu=1)] * 11, [amounts(gpu=10)], 2),
        ([amounts(cpu=1)] * 3, [amounts(gpu=10)], 1),
        ([amounts(gpu=1)], [amounts(cpu=4)], 1),
        ([amounts(gpu=1)], [], None),
    ],
)
def test_the_fewest_nodes_for_pods(pods: Any, nodes: Any, least: int | None) -> None:
    assert least_nodes(pods, nodes) == least


@pytest.mark.parametrize("shares", [1, 4, 7, 10, 56])
def test_of_pods_that_are_alike_it_is_exact(shares: int) -> None:
    for pods in range(301):
        assert least_nodes([amounts(gpu=1)] * pods, [amounts(gpu=shares)]) == -(-pods // shares)


@pytest.mark.parametrize(
    ("metadata", "pool"),
    [
        ({"annotations": {"lab.eks-gpushare/pool": "gpu"}}, "gpu"),
        ({"labels": {"eks-gpushare/pool": "inner"}}, "env/inner"),
        ({"labels": {"karpenter.sh/nodepool": "inner"}}, "env/inner"),
        ({"labels": {"karpenter.sh/nodepool": "foreign"}}, "foreign"),
        ({"labels": None, "annotations": None}, ""),
        ({}, ""),
    ],
)
def test_whose_a_node_is(metadata: dict[str, Any], pool: str) -> None:
    pools = [DeclaredPool("env/inner", "inner", {})]

    assert pool_of({"metadata": metadata}, pools) == pool


def test_a_machine_is_one_from_its_claim_to_its_end() -> None:
    lab = karpenter_lab()
    lab.scaling.history.on_claim("ADDED", claim("gpu-abcde", "n1", Launched=YES))
    (record,) = lab.scaling.history.records
    assert (record.name, record.joined) == ("gpu-abcde", None)

    node = lab.node("n1", ready=False)
    assert (record.name, record.ready) == ("n1", None)
    lab.node("n1", change="MODIFIED")
    assert record.ready is None, "it gives out no share yet"
    lab.node("n1", {SHARED: 10}, change="MODIFIED")
    lab.gone(node)
    lab.scaling.history.on_claim("DELETED", claim("gpu-abcde", "n1", Launched=YES))

    assert lab.scaling.history.records == [record]
    assert None not in (record.ready, record.removed)
    told = PoolReport("gpu", pool_reports(lab.session)["gpu"].nodes).as_json()["nodes"]
    assert [*told[0]] == [
        *("name", "instanceType", "zone", "capacityType"),
        *("launchedAfterSeconds", "readyAfterSeconds", "removedAfterSeconds"),
        *("usdPerHour", "advertised"),
    ]
    assert (told[0]["usdPerHour"], told[0]["advertised"]) == (G5, {SHARED: 10})


def test_a_claim_that_never_joined_is_a_machine_and_one_that_launched_nothing_is_not() -> None:
    lab = karpenter_lab()
    nothing = claim("gpu-empty", "n0")
    del nothing["status"]["providerID"]
    launched = claim("gpu-abcde", "n1", Launched=YES)
    for each in (nothing, launched):
        lab.scaling.history.on_claim("ADDED", each)
    for each in (nothing, launched):
        lab.scaling.history.on_claim("DELETED", each)

    (record,) = lab.scaling.history.records
    assert (record.name, record.joined, record.gone) == ("gpu-abcde", None, True)


def test_a_node_that_comes_again_under_its_name_is_another_machine() -> None:
    lab = karpenter_lab()
    lab.gone(lab.node("n1", {SHARED: 10}))
    lab.node("n1", {SHARED: 10})

    assert [record.gone for record in lab.scaling.history.records] == [True, False]
    assert lab.scaling.history.peaks["gpu"] == 1


@pytest.mark.parametrize(
    ("label", "bought", "usd"),
    [
        ({}, "on-demand", G5),
        ({"karpenter.sh/capacity-type": "spot"}, "spot", None),
        ({"karpenter.sh/capacity-type": "reserved"}, "reserved", G5),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on-demand", G5),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot", None),
        ({"eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"}, "capacity-block", None),
    ],
)
def test_what_a_node_costs(label: dict[str, str], bought: str, usd: float | None) -> None:
    lab = karpenter_lab()
    lab.node("n1", {SHARED: 10}, labels=label)

    (node,) = pool_reports(lab.session)["gpu"].nodes
    assert (node.capacity_type, node.usd) == (bought, usd)


def test_a_type_that_nobody_knows_has_no_price() -> None:
    assert price_of("x9.huge", "us-west-2", "on-demand") is None
    assert price_of("g5.xlarge", "mars-north-1", "on-demand") is None


def test_a_pool_without_a_node_is_in_the_report() -> None:
    told = pool_reports(karpenter_lab().session)["gpu"].as_json()

    assert told["nodes"] == []
    assert told["usdPerHour"] == 0
    assert told["usdPerShareHour"] == {"advertised": None, "used": None}
    assert told["scaling"]["launched"] == told["scaling"]["mostAtOnce"] == 0


def test_what_is_on_its_way_is_waited_for() -> None:
    lab = Lab(group())
    lab.pods(1)
    assert lab.scaling.coming(1.0) == "no autoscaler has said anything of pod waits-0 yet"
    assert lab.scaling.coming(11.0) == ""

    lab.says(AUTOSCALER, "TriggeredScaleUp", "pod triggered scale-up")
    lab.told.published = {"clusterWide": {"scaleUp": {"status": "InProgress"}}}
    assert lab.scaling.coming(11.0) == "Cluster Autoscaler adds a node for pod waits-0"
    lab.says(AUTOSCALER, "NotTriggerScaleUp", "pod didn't trigger scale-up")
    assert lab.scaling.coming(1.0) == ""

    lab.node("n1")
    assert lab.scaling.coming(1.0) == "node n1 gives out no share yet"
    lab.node("n1", {GPU: 10}, change="MODIFIED")
    assert lab.scaling.coming(1.0) == ""


@pytest.mark.parametrize("taint", ["karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler"])
def test_a_node_that_is_being_taken_away_is_waited_for(taint: str) -> None:
    lab = Lab(group())
    node = lab.node("n1", {GPU: 10})
    node["spec"]["taints"] = [{"key": taint, "effect": "NoSchedule"}]
    lab.watches.nodes._take("MODIFIED", with_version(node))  # noqa: SLF001

    assert lab.scaling.coming(1.0) == "node n1 is being removed"


def test_seconds_count_from_when_the_stack_was_there() -> None:
    lab = karpenter_lab()
    lab.node("early", {SHARED: 10})
    lab.scaling.began = time.monotonic() + 5

    (node,) = pool_reports(lab.session)["gpu"].nodes
    assert (node.launched, node.ready, node.removed) == (0.0, 0.0, None)


def test_cluster_autoscaler_takes_a_minute_for_pods_that_it_believes_to_have_room() -> None:
    lab = Lab(group())
    lab.pods(1)
    assert lab.scaling.coming(70.0) == "", "nobody has installed one"

    lab.told.installed = frozenset({AUTOSCALER})
    assert lab.scaling.coming(70.0) == "no autoscaler has said anything of pod waits-0 yet"
    lab.says(AUTOSCALER, "NotTriggerScaleUp", "pod didn't trigger scale-up")
    assert lab.scaling.coming(70.0) == ""
