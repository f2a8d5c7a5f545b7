"""The plan of a pool for rules, which see wrong pools too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.plan import PoolPlan


def planned(ctx: Context, name: str, pool: Pool) -> PoolPlan | None:
    """The plan of a pool, None of one that other rules say is wrong.

    Args:
        ctx: What the rule sees.
        name: Name of the pool.
        pool: The pool.
    """
    if not pool.instance_types or len(ctx.gpu_types(pool)) < len(pool.instance_types):
        return None
    try:
        return plan_pool(name, pool, ctx.catalog, ctx.region)
    except (KeyError, ValueError):  # types or a layout that the rules refuse
        return None
