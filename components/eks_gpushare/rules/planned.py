"""The plan of a pool, for rules that hold its keys against what its nodes will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.plan import PoolPlan


def planned(ctx: Context, name: str, pool: Pool) -> PoolPlan | None:
    """The plan; None for types or a layout that have findings of their own."""
    try:
        return plan_pool(name, pool, ctx.catalog, ctx.region) if pool.instance_types else None
    except (KeyError, ValueError):
        return None
