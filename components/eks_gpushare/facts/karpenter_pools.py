"""What of a NodePool of Karpenter holds back nodes, and what holds all of them back."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

OF_EVERY_NODE: Final = ("cpu", "memory", "ephemeral-storage", "pods", "vpc.amazonaws.com/pod-eni")
"""What Karpenter counts of every node of AWS, shares apart."""
NODES: Final = "nodes"
"""The limit of a static pool, in nodes."""
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
