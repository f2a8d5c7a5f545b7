"""What of a NodePool of Karpenter holds back nodes, and what holds all of them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

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


def stays(startup: tuple[str, str], taints: Collection[tuple[str, str]]) -> bool:
    """Whether a startup taint is one that stays, for which Karpenter refuses the whole pool.

    Args:
        startup: Its key and its effect: Karpenter refuses a pair that stands twice, and takes one
            key with two effects, as `validateTaints` of sigs.k8s.io/karpenter has it (1.14,
            pkg/apis/v1/nodeclaim_validation.go).
        taints: Those of the pool.
    """
    return startup in taints
