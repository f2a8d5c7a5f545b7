"""Rules about disruption budgets beside each other: which of them count.

Source: GetAllowedDisruptionsByReason and GetAllowedDisruptions in pkg/apis/v1/nodepool.go of
sigs.k8s.io/karpenter v1.14.1 (read 2026-11-22): of all budgets that hold at a time, for all reasons
or for that reason, the smallest counts.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, get_args

from eks_gpushare.config.autoscaling import DisruptionReason
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.karpenter.limits import promised_by_type
from eks_gpushare.sharing.scaling import node_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.autoscaling import DisruptionBudget
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_BUDGETS = "https://karpenter.sh/docs/concepts/disruption/#nodepool-disruption-budgets"

NEVER_COUNTS = Rule(
    "GPU798",
    "warning",
    "Every disruption budget can count.",
    "Of the budgets that hold for a reason the smallest counts. One beside a smaller one that "
    "holds whenever it does changes nothing: nodes go more slowly than it says.",
    _BUDGETS,
)
_REASONS: tuple[DisruptionReason, ...] = get_args(DisruptionReason)
_NUMBER = re.compile(r"[0-9]{1,6}%?")
_MOST_TRIED = 1000
_VERY_MANY = 100_000
"""Nodes of a pool that nothing limits; more than any cluster has."""


@check(Scope.POOL, NEVER_COUNTS)
def budgets_together(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    budgets = (own.budgets if own else None) or ()
    if not all(map(_is_right, budgets)):  # they have rules of their own
        return
    at = ("pools", name, "karpenter", "budgets")
    most = _most_nodes(ctx, name, pool)
    for index in range(len(budgets)):
        other = _smaller(budgets, index, most)
        if other is not None:
            yield NEVER_COUNTS.finding(
                (*at, index),
                f"budgets[{other}] holds whenever this one does and allows no more.",
                f"Give budgets[{other}] other reasons or times than this one, or remove this one.",
            )


def _is_right(budget: DisruptionBudget) -> bool:
    nodes = str(budget.nodes)
    number = nodes.isascii() and _NUMBER.fullmatch(nodes) is not None
    return number and (budget.schedule is None) == (budget.duration is None)


def _most_nodes(ctx: Context, name: str, pool: Pool) -> int | None:
    """Most nodes of the pool, whichever of its types they are; None if that is not known."""
    plan = planned(ctx, name, pool)
    most = node_range(pool, promised_by_type(plan)).most if plan is not None else None
    return most or None


def _smaller(budgets: Sequence[DisruptionBudget], index: int, most: int | None) -> int | None:
    """Another budget beside which one never counts; of two that are equal the first counts."""
    mine = budgets[index]
    others = (
        other
        for other, budget in enumerate(budgets)
        if _covers(budget, mine, most) and (other < index or not _covers(mine, budget, most))
    )
    return next(others, None)


def _covers(budget: DisruptionBudget, other: DisruptionBudget, most: int | None) -> bool:
    """Whether another budget changes nothing beside it."""
    return _holds_with(budget, other) and _is_never_more(budget, other, most)


def _holds_with(budget: DisruptionBudget, other: DisruptionBudget) -> bool:
    """Whether a budget holds whenever another one does, for all of its reasons."""
    if not {*(other.reasons or _REASONS)} <= {*(budget.reasons or _REASONS)}:
        return False
    times = (budget.schedule, budget.duration)
    return budget.schedule is None or times == (other.schedule, other.duration)


def _is_never_more(budget: DisruptionBudget, other: DisruptionBudget, most: int | None) -> bool:
    """Whether it allows no more nodes than another one, however many there are."""
    tried = chain(range(min(most or _MOST_TRIED, _MOST_TRIED)), [most or _VERY_MANY])
    return all(_allowed(budget, nodes) <= _allowed(other, nodes) for nodes in tried)


def _allowed(budget: DisruptionBudget, nodes: int) -> int:
    """How many of so many nodes may go, rounded up as Karpenter does."""
    given = str(budget.nodes)
    if given.endswith("%"):
        return -(-int(given.removesuffix("%")) * nodes // 100)
    return min(int(given), nodes)
