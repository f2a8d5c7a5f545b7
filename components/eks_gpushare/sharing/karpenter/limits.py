"""How much a pool of Karpenter's may grow, in the units that Karpenter counts in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.autoscaling import promised
from eks_gpushare.sharing.scaling import limits_by_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.plan import PoolPlan


def is_static(pool: Pool) -> bool:
    """Whether Karpenter keeps a number of nodes, whatever pods there are."""
    return pool.is_static


def limits_of(plan: PoolPlan) -> dict[str, str]:
    """What goes below `spec.limits` of a NodePool; empty where the pool has no limit.

    Karpenter adds a node up to where all nodes together would have more than the limit of one
    resource, by what it believes a node to have. So the units are those of the plan: shares, by the
    name that pods ask for. A limit of `nodes` counts in a static pool only.
    """
    return limits_by_type(plan.pool, promised_by_type(plan))


def promised_by_type(plan: PoolPlan) -> dict[str, Mapping[str, int]]:
    """What Karpenter believes a node of each type to have of GPUs."""
    return {name: promised(plan, name) for name in plan.per_node}
