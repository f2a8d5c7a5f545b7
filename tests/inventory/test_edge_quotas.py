"""Quotas are held against what nodes advertise, and how much of it there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, codes, nodes, operator, plugin, problems, quota, said

from eks_gpushare.facts.vcpus import Group, demands
from eks_gpushare.inventory.capacity import bought_as
from eks_gpushare.inventory.edges import quotas
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SHARED = f"{GPU}.shared"


def pool(most: Any = 2, **more: Any) -> Item:
    return nodes(labels=PRESENT, most=most, **more)


def sliced(**more: Any) -> Item:
    block = {"resources": [{"name": GPU, "replicas": 4}], **more}
    return plugin({"config": {"map": {"default": {"sharing": {"timeSlicing": block}}}}})


def karpenter(**limits: Any) -> Item:
    overlaid = {"labels": PRESENT, "limits": limits}
    return nodes(provisioner="karpenter", **overlaid)


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "the old name": ("GPU1150", (pool(), sliced(renameByDefault=True), quota({GPU: 4}))),
    "a share where there is none": ("GPU1150", (pool(), plugin(), quota({SHARED: 4}))),
    "a MIG device where there is none": (
        "GPU1150",
        (pool(), plugin(), quota({"nvidia.com/mig-1g.5gb": "4"})),
    ),
    "the queue's": (
        "GPU1150",
        (pool(), sliced(renameByDefault=True), quota({GPU: 4}, "ClusterQueue")),
    ),
    "one above": ("GPU1151", (pool(), sliced(), quota({GPU: 9}))),
    "counted as shares": ("GPU1151", (pool(), plugin(), quota({GPU: "8"}))),
    "two queues together": (
        "GPU1152",
        (pool(), sliced(), quota({GPU: 5}, "ClusterQueue"), quota({GPU: 4}, "ClusterQueue")),
    ),
}


@pytest.mark.parametrize("kind", ["Queue", "QueuePromise"])
def test_queues_of_volcano_are_judged_where_all_nodes_are_known(kind: str) -> None:
    found = (pool(), plugin(), quota({GPU: 64}, kind))

    assert [each.path for each in problems(*found)] == [("spec",)]
    assert problems(*found, complete=False) == []


RIGHT: dict[str, tuple[Item, ...]] = {
    "as many as there can be": (pool(), sliced(), quota({GPU: 8})),
    "of two pools": (pool(), pool(1, name="b"), sliced(), quota({GPU: 12})),
    "none of what there is none of": (pool(), plugin(), quota({SHARED: 0})),
    "no most": (pool(None), sliced(), quota({GPU: 100})),
    "other resources": (pool(), sliced(), quota({"cpu": "100", "count/pods": 9})),
    "queues that fit": (
        pool(),
        sliced(),
        quota({GPU: 4}, "ClusterQueue"),
        quota({GPU: 4}, "ClusterQueue"),
    ),
    "namespaces may be promised more together": (
        pool(),
        sliced(),
        quota({GPU: 8}),
        quota({GPU: 8}, namespace="b"),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_quota_that_means_nothing_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_one_that_does_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_limits_of_a_node_pool_are_its_most() -> None:
    within, above = quota({GPU: 2}), quota({GPU: 3})

    assert codes(karpenter(**{GPU: "2"}), plugin(), within) == []
    assert codes(karpenter(**{GPU: "2"}), plugin(), above) == ["GPU1151"]
    assert codes(karpenter(cpu="8"), plugin(), above) == ["GPU1151"]  # two of four vCPUs
    assert codes(karpenter(memory="8Gi"), plugin(), above) == []


def test_what_is_not_known_is_said() -> None:
    assert codes(pool(), sliced(), quota(UNKNOWN)) == ["?GPU1150"]
    assert codes(pool(), sliced(), quota({GPU: UNKNOWN})) == ["?GPU1150"]
    assert codes(pool(UNKNOWN), sliced(), quota({GPU: 99})) == ["?GPU1151"]


def test_without_pools_files_say_nothing_of_quotas() -> None:
    assert codes(quota({SHARED: 4}), complete=False) == []
    assert [each.rule.id for each in problems(quota({SHARED: 4}))] == ["GPU1150"]


QUEUE = "ClusterQueue"


@pytest.mark.parametrize(
    ("items", "count"),
    [
        # Each within what there is, both together not.
        ((quota({GPU: 8}, QUEUE), quota({GPU: 1}, QUEUE)), 1),
        ((quota({GPU: 7}, QUEUE), quota({GPU: 1}, QUEUE)), 0),
        # What one alone promises is said of that one.
        ((quota({GPU: 9}, QUEUE), quota({GPU: 1}, QUEUE)), 0),
        ((quota({GPU: 8}, QUEUE), quota({GPU: "many"}, QUEUE)), 0),
        ((quota({GPU: 5}, QUEUE), quota(UNKNOWN, QUEUE), quota({GPU: 4}, QUEUE)), 1),
        ((quota({GPU: 5}, QUEUE), quota({"cpu": 4}, QUEUE), quota({GPU: 4}, QUEUE)), 1),
    ],
)
def test_queues_are_counted_together(items: tuple[Item, ...], count: int) -> None:
    found = problems(pool(), sliced(), *items, of=[quotas.PROMISED_TWICE])

    assert len(found) == count


def test_queues_that_promise_too_much_are_named() -> None:
    one, other = (quota({GPU: 5}, QUEUE, namespace=each) for each in ("a", "b"))
    (found,) = problems(
        pool(), sliced(), quota({GPU: 8}), one, quota({"cpu": 1}, QUEUE), other, quota({GPU: 8})
    )

    assert found.message == (
        "The ClusterQueue team, the ClusterQueue team have nominal quotas of 10 of nvidia.com/gpu "
        "together, and all nodes have 8 when there are as many as there may be."
    )
    assert found.source is other.source


@pytest.mark.parametrize(
    ("items", "path", "listed"),
    [
        ((pool(), sliced(), quota({SHARED: 4})), f"requests.{SHARED}", GPU),
        ((pool(), sliced(), quota({SHARED: 4}, QUEUE)), "spec", GPU),
        ((quota({SHARED: 4}),), f"requests.{SHARED}", "no GPU"),
        (
            (
                pool(),
                nodes("p4d.24xlarge", name="b", labels={"nvidia.com/mig.config": "all-1g.5gb"}),
                operator({"mig": {"strategy": "mixed"}}),
                quota({SHARED: 1}),
            ),
            f"requests.{SHARED}",
            f"{GPU}, nvidia.com/mig-1g.5gb",
        ),
    ],
)
def test_what_nodes_have_instead_is_listed(items: tuple[Item, ...], path: str, listed: str) -> None:
    (found,) = problems(*items)

    assert found.path[-1] == path
    assert found.message.endswith(f"which no node advertises: the nodes have {listed}.")


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({GPU: "2"}, 2),
        ({"cpu": "8"}, 2),
        ({"cpu": "9"}, 3),  # there is room for a third when the second is there
        ({"cpu": "7"}, 2),
        ({"nodes": "3"}, 3),
        ({"nodes": 3, "cpu": 4}, 1),
        ({"cpu": "many", "nodes": 2}, 2),
        ({"cpu": UNKNOWN, "nodes": 2}, 2),
    ],
)
def test_limits_leave_room_for_so_many_nodes(limits: dict[str, Any], most: int) -> None:
    assert codes(karpenter(**limits), plugin(), quota({GPU: most})) == []
    assert codes(karpenter(**limits), plugin(), quota({GPU: most + 1})) == ["GPU1151"]


@pytest.mark.parametrize(
    "limits", [{}, {"memory": "1Gi"}, {"cpu": UNKNOWN}, UNKNOWN, {SHARED: 2}, {"cpu": "many"}]
)
def test_what_limits_no_nodes_bounds_no_quota(limits: Any) -> None:
    unbounded = nodes(provisioner="karpenter", labels=PRESENT, limits=limits)

    assert said(quotas.quotas, unbounded, plugin(), quota({GPU: 100})) == []


def test_limits_of_several_types_are_of_the_least() -> None:
    both = nodes(
        "g5.xlarge", "g5.2xlarge", provisioner="karpenter", labels=PRESENT, limits={"cpu": "16"}
    )

    assert said(quotas.quotas, both, plugin(), quota({GPU: 4})) == []
    assert [code for code, _ in said(quotas.quotas, both, plugin(), quota({GPU: 5}))] == ["GPU1151"]


@pytest.mark.parametrize(
    ("items", "taken"),
    [
        ((nodes("g5.xlarge", most=3),), {"L-DB2E81BA": 12}),
        ((nodes("g5.xlarge", "g5.48xlarge", most=2),), {"L-DB2E81BA": 384}),
        ((nodes("g5.xlarge", most=3, bought_as=("spot",)),), {"L-3819A6DF": 12}),
        (
            (nodes("g5.xlarge", most=3), nodes("m5.large", name="b", most=1)),
            {"L-DB2E81BA": 12, "L-1216C47A": 2},
        ),
        ((karpenter(cpu="10"),), {"L-DB2E81BA": 8}),
        ((karpenter(cpu="64", **{GPU: 2}),), {"L-DB2E81BA": 8}),
        ((karpenter(memory="1Ti"),), {}),
        ((nodes("g5.xlarge", most=3, provisioner="byHand"),), {}),
    ],
)
def test_what_nodes_take_of_the_quotas_of_an_account(
    items: tuple[Item, ...], taken: dict[str, int]
) -> None:
    found = demands(each for each in quotas.vcpus(Inventory(items)) if isinstance(each, Group))

    assert {code: demand.vcpus for code, demand in found.items()} == taken


@pytest.mark.parametrize(
    ("unknown", "what"),
    [
        ({"instance_types": UNKNOWN}, "the types of the node group gpu"),
        ({"most": UNKNOWN}, "the number of the node group gpu"),
        ({"bought_as": UNKNOWN}, "the number of the node group gpu"),
        ({"instance_types": ("g99.large",)}, "the vCPUs of g99.large of the node group gpu"),
    ],
)
def test_what_is_not_known_of_it_is_said(unknown: dict[str, Any], what: str) -> None:
    (found,) = quotas.vcpus(Inventory((nodes(**{"most": 2, **unknown}),)))

    assert isinstance(found, NotSeen)
    assert found.what == what


@pytest.mark.parametrize(
    ("capacity_type", "bought"),
    [
        ("SPOT", ("spot",)),
        ("spot", ("spot",)),
        ("CAPACITY_BLOCK", ("capacityBlock",)),
        ("ON_DEMAND", ("onDemand",)),
        (None, ("onDemand",)),
        (UNKNOWN, UNKNOWN),
    ],
    ids=str,
)
def test_how_a_node_group_asks_for_nodes(capacity_type: Any, bought: Any) -> None:
    assert bought_as(capacity_type) == bought
