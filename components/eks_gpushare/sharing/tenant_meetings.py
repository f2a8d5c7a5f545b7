"""Who may meet whom on one GPU: what the contracts of tenants, and how pools share, come to."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from eks_gpushare.sharing.tenants import turns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.facts.isolation import Turns
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract

_CLOSER: tuple[Turns, ...] = ("exclusive", "mps", "timeSlicing")
"""From those who have a GPU or MIG device each to those who share one with nothing between."""


def meetings(
    every: Iterable[PoolContract], plans: Mapping[str, PoolPlan]
) -> dict[str, dict[str, Turns]]:
    """How close each tenant's pods may come to those of each other one; nothing where never.

    `exclusive` says that they may be on one node, each with a GPU or MIG device of its own. Of
    several pools the closest.

    Args:
        every: What tenants have of pools.
        plans: The plans of the pools by name.
    """
    by_pool: dict[str, list[PoolContract]] = {}
    for contract in every:
        by_pool.setdefault(contract.pool, []).append(contract)
    found: dict[str, dict[str, Turns]] = {}
    for pool, contracts in by_pool.items():
        _in_pool(found, contracts, plans[pool])
    return found


def _in_pool(
    found: dict[str, dict[str, Turns]], contracts: Sequence[PoolContract], plan: PoolPlan
) -> None:
    turns = {name: turns_of(plan.pool, name) for name in plan.at(1)}
    for one, other in combinations(contracts, 2):
        both = one.maximum.keys() & other.maximum.keys()
        here = max((turns[name] for name in both), key=_CLOSER.index, default="exclusive")
        for a, b in ((one.tenant, other.tenant), (other.tenant, one.tenant)):
            of = found.setdefault(a, {})
            of[b] = max(here, of.get(b, here), key=_CLOSER.index)
