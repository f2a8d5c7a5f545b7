"""What of a NodePool of Karpenter holds back nodes, and what holds all of them back."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

OF_EVERY_NODE: Final = ("cpu", "memory", "ephemeral-storage", "pods", "vpc.amazonaws.com/pod-eni")
"""What Karpenter counts of every node of AWS, shares apart."""
NODES: Final = "nodes"
"""The limit of a static pool, in nodes."""
_MOVING: Final = (None, "WhenEmptyOrUnderutilized", "Balanced")
"""Policies by which it does; others than WhenEmpty are refused."""
_HUGE_PAGES: Final = "hugepages-"
"""How resources begin that a node has where its kernel is told so."""


def has_limit(values: Iterable[object]) -> bool:
    """Whether one of the limits of a pool says how much."""
    return any(value not in (None, "") for value in values)


def is_idle_limit(resource: str, had: Collection[str] | None = None, *, static: bool) -> bool:
    """Whether a limit holds nothing back, since no node of the pool has the resource.

    Args:
        resource: What is limited.
        had: What nodes of the pool have besides what every node has. Default: it is not known, and
            may be anything that is named like an extended resource.
        static: Whether the pool has a fixed number of nodes: Karpenter 1.14 counts `nodes` of such
            pools only, https://karpenter.sh/docs/concepts/nodepools/#speclimits.
    """
    if resource == NODES:
        return not static
    if resource in OF_EVERY_NODE or resource.startswith(_HUGE_PAGES):
        return False
    return "/" not in resource if had is None else resource not in had


def moves_pods(policy: object, after: object, budgets: Iterable[Mapping[str, object]]) -> bool:
    """Whether Karpenter evicts pods that run, to put them on fewer or cheaper nodes.

    Args:
        policy: `consolidationPolicy`; Karpenter takes WhenEmptyOrUnderutilized where there is none.
        after: `consolidateAfter`.
        budgets: Those of the pool: one that holds always and lets no node go for being little used
            keeps pods where they are, https://karpenter.sh/docs/concepts/disruption/.
    """
    return policy in _MOVING and after != "Never" and not any(map(_keeps_used, budgets))


def _keeps_used(budget: Mapping[str, object]) -> bool:
    reasons = budget.get("reasons")
    for_used = reasons is None or (isinstance(reasons, list | tuple) and "Underutilized" in reasons)
    none = str(budget.get("nodes")) in ("0", "0%")
    return none and for_used and budget.get("schedule") is None


class Twice(StrEnum):
    """Where a startup taint stands too, so that Karpenter refuses the whole pool."""

    STAYS = "taints"
    AGAIN = "startupTaints"


def twice(
    startup: Sequence[tuple[str, str]], taints: Collection[tuple[str, str]]
) -> Iterator[tuple[int, Twice]]:
    """Which startup taints stand twice, by their number.

    Args:
        startup: Key and effect of each: Karpenter refuses a pair that stands twice, and takes one
            key with two effects, as `validateTaints` of sigs.k8s.io/karpenter has it (1.14,
            pkg/apis/v1/nodeclaim_validation.go).
        taints: Those of the taints that stay.
    """
    for index, pair in enumerate(startup):
        if pair in taints:
            yield index, Twice.STAYS
        elif pair in startup[:index]:
            yield index, Twice.AGAIN
