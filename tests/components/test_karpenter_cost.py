"""What nodes that Karpenter starts cost: from those that a pool begins with to the most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.costs.stack import cost_of
from eks_gpushare.program.pools import pools_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

G5 = 1.006
"""USD per hour of a g5.xlarge in us-west-2."""


@pytest.mark.parametrize(
    ("given", "count", "price"),
    [
        ({}, (0, 4), G5),
        # Above what a static pool keeps, there are nodes only while others are exchanged.
        ({"nodes": {"desired": 4, "max": 5}, "karpenter": {"static": True}}, (4, 4), G5),
        ({"warm": {"nodes": 2}}, (2, 4), G5),
        ({"warm": {"shares": 5}}, (3, 4), G5),
        ({"warm": {"nodes": 1}, "capacity_type": "spot"}, (1, 4), None),
        ({"capacity_type": "spot"}, (0, 4), None),
        ({"karpenter": {"capacity_types": ["spot", "onDemand"]}}, (0, 4), G5),
        # Of several types the dearest.
        ({"instance_types": ["g5.xlarge", "g5.2xlarge"]}, (0, 4), 1.212),
    ],
)
def test_nodes_of_a_pool_are_counted_up_to_its_most(
    karpenter_pool: Callable[..., Run],
    given: dict[str, Any],
    count: tuple[int, int],
    price: float | None,
) -> None:
    pool = {"instance_types": ["g5.xlarge"], "nodes": {"max": 4}, "root_volume_gib": 100, **given}
    recording = karpenter_pool(**pool).recording
    items = {item.kind: item for item in cost_of(recording, "us-west-2").items}

    nodes, volumes = items["gpuNodes"], items["rootVolumes"]
    assert (nodes.count.at_desired, nodes.count.at_max) == count
    assert nodes.price == price
    assert volumes.count.at_max == 400


@pytest.mark.parametrize(
    ("limits", "most", "price", "disks"),
    [
        # 3 of the large type cost more than 24 of the small one, which have more volumes.
        ({"nvidia.com/gpu.shared": 240}, 3, 16.288, 24),
        ({"cpu": 192}, 48, G5, 48),
        ({"cpu": 100}, 25, G5, 25),
    ],
)
def test_of_types_of_several_sizes_the_dearest_sum_counts(
    karpenter_pool: Callable[..., Run], limits: dict[str, int], most: int, price: float, disks: int
) -> None:
    given = {"instance_types": ["g5.xlarge", "g5.48xlarge"], "karpenter": {"limits": limits}}
    sharing = {"mode": "timeSlicing", "replicas": 10}
    recording = karpenter_pool(**given, sharing=sharing).recording
    items = {item.kind: item for item in cost_of(recording, "us-west-2").items}

    nodes = items["gpuNodes"]
    assert (nodes.count.at_desired, nodes.count.at_max, nodes.price) == (0, most, price)
    assert items["rootVolumes"].count.at_max == 200 * disks


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        ({"nodes": {"max": 4}}, ()),
        ({"nodes": {"desired": 1}, "karpenter": {"static": True}}, ()),
        ({"karpenter": {"limits": {"nvidia.com/gpu.shared": 40}}}, ()),
        ({}, ("gpu: nothing limits how many nodes it may have.",)),
    ],
)
def test_nodes_that_nothing_limits_make_the_most_unknown(
    karpenter_pool: Callable[..., Run], given: dict[str, Any], unknown: tuple[str, ...]
) -> None:
    cost = cost_of(karpenter_pool(**given).recording, "us-west-2")

    assert cost.unknown() == unknown
    assert (cost.total().at_max is None) is bool(unknown)
    assert cost.total().at_desired is not None


RESERVED = {"capacity_type": "reserved", "instance_types": ["g5.xlarge"]}
CR = "cr-0123456789abcdef0"


@pytest.mark.parametrize(
    ("given", "idle"),
    [
        # Whatever pods there are: as many as the pool may have nodes.
        ({"nodes": {"max": 4}, "reservation": {"id": CR}}, (4, 0)),
        ({"nodes": {"max": 4}, "reservation": {"id": CR, "instances": 6}}, (6, 2)),
        ({"nodes": {"max": 4}, "warm": {"nodes": 1}, "reservation": {"id": CR}}, (3, 0)),
        (
            {
                "nodes": {"max": 4},
                "karpenter": {"capacity_types": ["reserved", "onDemand"]},
                "reservation": {"id": CR, "instances": 2},
            },
            (2, 0),
        ),
        (
            {
                "nodes": {"max": 4},
                "karpenter": {"capacity_types": ["reserved", "onDemand"]},
                "reservation": {"id": CR},
            },
            (None, None),
        ),
    ],
)
def test_a_reservation_is_paid_for_used_or_not(
    karpenter_pool: Callable[..., Run],
    given: dict[str, Any],
    idle: tuple[int | None, int | None],
) -> None:
    recording = karpenter_pool(**{**RESERVED, **given}).recording
    cost = cost_of(recording, "us-west-2")
    found = {item.kind: item for item in cost.items}["reservedInstances"]
    (pool,) = pools_of(recording, "us-west-2").values()

    assert (found.count.at_desired, found.count.at_max) == idle
    volumes = sum(i.usd_per_hour().at_desired or 0 for i in cost.items if i.kind == "rootVolumes")
    paid, total = pool["usdPerHour"]["atDesired"], cost.total().at_desired
    assert (paid is None) is (total is None) is (idle[0] is None)
    assert paid is None or total == pytest.approx(paid + volumes)


def test_a_pool_alone_says_what_it_offers(karpenter_pool: Callable[..., Run]) -> None:
    pools = pools_of(karpenter_pool(nodes={"max": 3}).recording, "us-west-2")

    assert pools["gpu"]["provisioner"] == "karpenter"
    assert pools["gpu"]["request"] == {"nvidia.com/gpu.shared": 1}
    assert pools["gpu"]["nodes"] == {"min": 0, "desired": 0, "max": 3}
