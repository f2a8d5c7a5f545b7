"""Quotas are held against what nodes advertise, and how much of it there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, codes, nodes, plugin, problems, quota

from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.vcpus import vcpus_at_most

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
    assert codes(pool(), sliced(), quota({GPU: UNKNOWN})) == []
    assert codes(pool(UNKNOWN), sliced(), quota({GPU: 99})) == []


def test_without_pools_files_say_nothing_of_quotas() -> None:
    assert codes(quota({SHARED: 4}), complete=False) == []
    assert [each.rule.id for each in problems(quota({SHARED: 4}))] == ["GPU1150"]


def test_vcpus_are_counted_by_the_quota_of_ec2() -> None:
    g5, p4 = pool(3), nodes("p4d.24xlarge", name="p", most=2)
    small = nodes("m5.large", "m5.xlarge", name="system", most=4)
    unlimited = nodes(name="more", provisioner="karpenter")
    found, unknown = vcpus_at_most(Inventory((g5, p4, small, unlimited)))

    assert {code: taken.vcpus for code, taken in found.items()} == {
        "L-DB2E81BA": 12,
        "L-417A185B": 192,
        "L-1216C47A": 16,
    }
    assert unknown == (unlimited,)
    spot, _ = vcpus_at_most(Inventory((g5,)), {"the node group gpu": "spot"})
    assert list(spot) == ["L-3819A6DF"]
