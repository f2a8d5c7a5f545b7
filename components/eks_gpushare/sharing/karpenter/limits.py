"""How much a pool of Karpenter's may grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.plan import PoolPlan

NODES = "nodes"
"""The limit of a static pool: Karpenter counts nodes for those alone."""


def is_static(pool: Pool) -> bool:
    """Whether Karpenter keeps a number of nodes, whatever pods there are."""
    return pool.karpenter is not None and pool.karpenter.static


def limits_of(plan: PoolPlan) -> dict[str, str]:
    """What goes below `spec.limits` of a NodePool; empty where the pool has no limit.

    Karpenter adds a node up to where all nodes together would have more than the limit of one
    resource, by what it believes a node to have. So the units are those of the plan: shares, by the
    name that pods ask for. A limit of `nodes` counts in a static pool only.
    """
    pool = plan.pool
    given = pool.karpenter.limits if pool.karpenter else None
    if given is not None:
        return {name: str(most) for name, most in given.items()}
    if pool.nodes.max is None:
        return {}
    if is_static(pool):
        return {NODES: str(plan.sizes.max)}
    from eks_gpushare.sharing.autoscaling import promised

    largest: dict[str, int] = {}
    for instance_type in plan.per_node:
        for name, count in promised(plan, instance_type).items():
            largest[name] = max(largest.get(name, 0), count)
    return {name: str(count * pool.nodes.max) for name, count in largest.items() if count}
