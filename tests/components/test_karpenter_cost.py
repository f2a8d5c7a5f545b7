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
        ({"nodes": {"desired": 3, "max": 4}, "karpenter": {"static": True}}, (3, 4), G5),
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
    ("limits", "most", "price"),
    [
        ({"nvidia.com/gpu.shared": 240}, 3, 16.288),
        ({"cpu": 192}, 48, G5),
        ({"cpu": 100}, 25, G5),
    ],
)
def test_of_types_of_several_sizes_the_dearest_sum_counts(
    karpenter_pool: Callable[..., Run], limits: dict[str, int], most: int, price: float
) -> None:
    given = {"instance_types": ["g5.xlarge", "g5.48xlarge"], "karpenter": {"limits": limits}}
    sharing = {"mode": "timeSlicing", "replicas": 10}
    recording = karpenter_pool(**given, sharing=sharing).recording
    items = {item.kind: item for item in cost_of(recording, "us-west-2").items}

    nodes = items["gpuNodes"]
    assert (nodes.count.at_desired, nodes.count.at_max, nodes.price) == (0, most, price)


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({"nodes": {"max": 4}}, []),
        ({"nodes": {"desired": 1}, "karpenter": {"static": True}}, []),
        ({"karpenter": {"limits": {"nvidia.com/gpu.shared": 40}}}, []),
        ({}, ["further nodes of gpu, which nothing limits"]),
    ],
)
def test_nodes_that_nothing_limits_are_not_in_the_sum(
    karpenter_pool: Callable[..., Run], given: dict[str, Any], left_out: list[str]
) -> None:
    cost = cost_of(karpenter_pool(**given).recording, "us-west-2")

    assert [each for each in cost.not_included if "nodes" in each] == left_out


def test_a_pool_alone_says_what_it_offers(karpenter_pool: Callable[..., Run]) -> None:
    pools = pools_of(karpenter_pool(nodes={"max": 3}).recording, "us-west-2")

    assert pools["gpu"]["provisioner"] == "karpenter"
    assert pools["gpu"]["request"] == {"nvidia.com/gpu.shared": 1}
    assert pools["gpu"]["nodes"] == {"min": 0, "desired": 0, "max": 3}
