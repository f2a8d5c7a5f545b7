"""The plan of a pool for rules, which see wrong pools too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.plan import plan_pool

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.plan import PoolPlan

    _Plans = dict[tuple[str, int], tuple[Pool, PoolPlan | None]]

_LATEST: list[tuple[Context, _Plans]] = []
"""What the rules see that planned last, with the plans: pools are kept, so that none takes the
place of another."""


def planned(ctx: Context, name: str, pool: Pool) -> PoolPlan | None:
    """The plan of a pool, None of one that other rules say is wrong.

    Args:
        ctx: What the rule sees.
        name: Name of the pool.
        pool: The pool.
    """
    plans = _plans_of(ctx)
    key = (name, id(pool))
    if key not in plans:
        plans[key] = (pool, _planned(ctx, name, pool))
    return plans[key][1]


def _plans_of(ctx: Context) -> _Plans:
    """What was planned for rules that see this: a dozen of them ask for the plan of each pool."""
    kept = _LATEST[0] if _LATEST else None
    if kept is None or kept[0] is not ctx:
        kept = (ctx, {})
        _LATEST[:] = [kept]
    return kept[1]


def _planned(ctx: Context, name: str, pool: Pool) -> PoolPlan | None:
    if not pool.instance_types or len(ctx.gpu_types(pool)) < len(pool.instance_types):
        return None
    try:
        return plan_pool(name, pool, ctx.catalog, ctx.region)
    except (KeyError, ValueError):  # types or a layout that the rules refuse
        return None
