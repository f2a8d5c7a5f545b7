"""For every way to share: what is promised of a node makes ceil(n/R) nodes of n pods, 1 to 300."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from math import ceil

import pytest
import yaml
from ways_to_share import WAYS, as_pools

from eks_gpushare.catalog import Catalog
from eks_gpushare.live.node_pool_limits import room_of
from eks_gpushare.sharing.autoscaling import promised
from eks_gpushare.sharing.karpenter.node_overlay import needs_overlays, node_overlays
from eks_gpushare.sharing.plan import PoolPlan, plan_environment
from eks_gpushare.validation.parse import parse
from eks_gpushare_lab.observing.packing import least_nodes

CATALOG = Catalog()
MOST = 300


@cache
def plans() -> dict[str, PoolPlan]:
    given = {
        "cluster": {"name": "ways", "version": "1.35"},
        "pools": yaml.safe_load(as_pools("provisioner: karpenter", "nodes: {max: 300}")),
    }
    parsed = parse(given)
    assert parsed.environment is not None, parsed.findings
    return plan_environment(parsed.environment, CATALOG)


@pytest.mark.parametrize("name", WAYS)
def test_karpenter_is_told_of_the_shares_and_of_nothing_else(name: str) -> None:
    way, plan = WAYS[name], plans()[name]
    told = {k: int(n) for k, n in promised(plan, way.instance_type).items() if n}
    assert told[way.resource] == way.shares
    assert dict(plan.request) == {way.resource: 1} or name == "mixed"
    found = CATALOG.find(way.instance_type)
    assert found is not None
    overlays = node_overlays(plan, CATALOG)
    assert bool(overlays) == needs_overlays(plan, CATALOG) == (name != "whole")
    # Without a 0 for it, Karpenter would take the GPUs of the type for shares beside the others.
    for each in overlays:
        capacity = each["spec"]["capacity"]
        assert capacity == {
            **({"nvidia.com/gpu": "0"} if "nvidia.com/gpu" not in told else {}),
            **{resource: str(count) for resource, count in told.items()},
        }


@pytest.mark.parametrize("name", WAYS)
def test_n_pods_fit_on_as_few_nodes_as_their_shares_allow(name: str) -> None:
    """With what CPU, memory and addresses of the machine are left for pods.

    More pods never take fewer nodes, so the last number of pods of each number of nodes, and the
    next one, stand for all of them.
    """
    way, plan = WAYS[name], plans()[name]
    told = {k: int(n) for k, n in promised(plan, way.instance_type).items()}
    pod = {way.resource: Decimal(1), "pods": Decimal(1)}
    room = room_of(way.instance_type, told)
    full = range(way.shares, MOST + 1, way.shares)
    edges = {1, MOST, *full, *(n + 1 for n in full if n < MOST)}
    wrong = {
        n: found for n in edges if (found := least_nodes([pod] * n, [room])) != ceil(n / way.shares)
    }
    assert wrong == {}
