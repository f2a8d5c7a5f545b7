"""What pods use of nodes by an answer of Prometheus: who pays for what is held there together.

Series of it are those of the recording rule `gpushare:namespace_use`: they have no resource, and
`by` says what was measured. They count where the stack's `observability.cost.split` asks for that,
in pools whose exporter tells pods apart.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from eks_gpushare.live.usage_labels import NAMESPACE, POOL, first
from eks_gpushare.sharing.metrics import cost_split, is_split_by_use, split_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.usage_answer import UsageAnswer, UsageSeries

RECORD: Final = "gpushare:namespace_use"
_BY: Final = "by"


def is_measured(series: UsageSeries) -> bool:
    """Whether a series is of what pods use, and not of what they hold."""
    labels = series.labels
    return not labels.get("resource") and split_quantity(labels.get(_BY, "")) is not None


def declared_split(stack: Stack) -> str:
    """By what the costs of a stack are split."""
    block = stack.environment.observability if stack.environment is not None else None
    return "share" if block is None else cost_split(block)


class MeasuredUse:
    """What the pods of each namespace use of each node, at the times of an answer."""

    def __init__(self, answer: UsageAnswer, stack: Stack, pools: Mapping[str, str]) -> None:
        """That of an answer.

        Args:
            answer: The answer.
            stack: The stack, which says what is to be measured.
            pools: Pools by node, where they are known; else the series name them.
        """
        self._file, self._split = answer.file, declared_split(stack)
        self._pools = {
            name for name, plan in stack.plans.items() if is_split_by_use(plan, self._split)
        }
        self._series: dict[tuple[str, str], list[tuple[str, UsageSeries]]] = defaultdict(list)
        for each in answer.series:
            labels = each.labels
            if is_measured(each) and labels[_BY] == self._split:
                node = labels.get("node", "")
                pool = first(labels, POOL) or pools.get(node, "")
                if pool in self._pools:
                    self._series[pool, node].append((first(labels, NAMESPACE), each))

    def points(self, time: float) -> Iterator[Fraction | None]:
        """All values at a time, always in the same order."""
        for own in self._series.values():
            yield from (series.points.get(time) for _, series in own)

    def payers(
        self, pool: str, node: str, holders: Sequence[str], time: float
    ) -> tuple[tuple[str, Fraction], ...]:
        """Who pays for what is held on a node; none is told where each pays for its own.

        Args:
            pool: The pool.
            node: The node.
            holders: Namespaces whose pods hold something there.
            time: When.
        """
        used: dict[str, Fraction] = defaultdict(Fraction)
        for namespace, series in self._series.get((pool, node), ()):
            if namespace in holders and (value := series.points.get(time)):
                used[namespace] += value
        together = sum(used.values(), Fraction(0))
        return tuple((name, value / together) for name, value in used.items())

    def notes(self, held: set[str]) -> Iterator[str]:
        """By what pools are split, where it is not by shares alone.

        Args:
            held: Pools of which pods hold something.
        """
        split = self._split
        if split_quantity(split) is None:
            return
        told = {pool for pool, _ in self._series}
        if measured := sorted(told & held):
            yield (
                f"What pods of {', '.join(measured)} hold of a node is divided by their {split} "
                "there; where none is measured, by shares."
            )
        if silent := sorted((self._pools & held) - told):
            yield (
                f"{self._file} has no {RECORD} of {', '.join(silent)}, so that these are divided "
                f"by shares, and not by {split}."
            )
        if others := sorted(held - self._pools):
            yield f"{', '.join(others)}: no {split} of pods is measured; divided by shares."
