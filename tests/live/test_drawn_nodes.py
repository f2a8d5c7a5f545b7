"""Nodes of a cluster as a map of shares has them: whose shares they are, and which are as one."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tests.live.test_faults import GPU, HEALTHY, STACK, gpu_node, objects_of, running

from eks_gpushare.live.drawn_nodes import drawn_pools
from eks_gpushare.live.nodes import gpu_nodes_of
from eks_gpushare.reports.share_map import HeldShares, MapShares

if TYPE_CHECKING:
    from eks_gpushare.reports.share_map import MapNode

DECLARED = {"gpu-0": {GPU: 40}, "gpu-1": {GPU: 40}, "gpu-2": {GPU: 40}}


def cluster_of(*names: str) -> list[Any]:
    """The cluster with nodes of these names and no pod on them."""
    found: list[Any] = copy.deepcopy(HEALTHY)
    node = gpu_node(found)
    found.remove(node)
    for name in names:
        made = copy.deepcopy(node)
        made["metadata"]["name"] = name
        made["spec"].pop("providerID", None)
        found.append(made)
    return found


def node_of(cluster: list[Any], name: str) -> Any:
    return next(each for each in cluster if each["metadata"]["name"] == name)


def drawn(cluster: list[Any], declared: Any = DECLARED) -> list[MapNode]:
    """What is drawn of the pool `gpu`; another one beside it has nothing."""
    nodes = gpu_nodes_of(objects_of(cluster), STACK.plans)
    found = list(drawn_pools(["gpu", "more"], nodes, declared))

    assert [pool.name for pool in found] == ["gpu", "more"]
    assert found[1].nodes == ()
    return list(found[0].nodes)


def test_a_node_has_its_type_and_its_shares_with_those_that_are_declared() -> None:
    (node,) = drawn(cluster_of("gpu-0"))

    assert (node.names, node.type_name, node.gpus) == (("gpu-0",), "g6.12xlarge", 4)
    assert node.shares == (MapShares(GPU, 40, 40, ()),)
    assert node.state == ""


def test_a_type_that_nobody_knows_has_no_number_of_gpus() -> None:
    cluster = cluster_of("gpu-0")
    for key in ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"):
        if key in node_of(cluster, "gpu-0")["metadata"]["labels"]:
            node_of(cluster, "gpu-0")["metadata"]["labels"][key] = "p99.metal"
    (node,) = drawn(cluster)

    assert (node.type_name, node.gpus) == ("p99.metal", None)


def test_what_is_not_declared_is_left_out_of_what_it_should_be() -> None:
    (node,) = drawn(cluster_of("gpu-0"), {})

    assert node.shares == (MapShares(GPU, 40, None, ()),)


def test_of_a_resource_that_only_one_side_has_the_other_has_none() -> None:
    other = "nvidia.com/gpu.shared"
    (node,) = drawn(cluster_of("gpu-0"), {"gpu-0": {other: 40}})

    assert node.shares == (MapShares(GPU, 40, 0, ()), MapShares(other, 0, 40, ()))


def test_shares_are_held_by_resource() -> None:
    other = "nvidia.com/gpu.shared"
    cluster = cluster_of("gpu-0")
    node_of(cluster, "gpu-0")["status"]["allocatable"][other] = "4"
    cluster.append(running("one", 2))
    (node,) = drawn(cluster)
    held = {each.resource: each.held for each in node.shares}

    assert set(held) == {GPU, other}
    assert [(each.pod, each.shares) for each in held[GPU]] == [("one", 2)]
    assert all(isinstance(each, HeldShares) for each in held[GPU])
    assert held[other] == ()


def test_a_node_is_not_ready_or_cordoned() -> None:
    cluster = cluster_of("gpu-0", "gpu-1")
    for each in node_of(cluster, "gpu-0")["status"]["conditions"]:
        if each["type"] == "Ready":
            each["status"] = "False"
    node_of(cluster, "gpu-1")["spec"]["unschedulable"] = True

    assert [node.state for node in drawn(cluster)] == ["not ready", "cordoned"]


def test_nodes_that_are_alike_and_hold_no_pod_are_one() -> None:
    cluster = cluster_of("gpu-0", "gpu-1", "gpu-2")
    cluster.append(running("one"))
    folded = drawn(cluster)

    assert [node.names for node in folded] == [("gpu-0",), ("gpu-1", "gpu-2")]
    assert [bool(node.shares[0].held) for node in folded] == [True, False]
    cluster.append(copy.deepcopy(cluster[-1]))
    cluster[-1]["metadata"]["name"] = "two"
    cluster[-1]["spec"]["nodeName"] = "gpu-1"
    assert [node.names for node in drawn(cluster)] == [("gpu-0",), ("gpu-1",), ("gpu-2",)]
