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
OF_TYPES: Final = (
    *("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "vpc.amazonaws.com/efa"),
    *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore"),
)
"""What it counts of nodes by their type: `computeCapacity` of karpenter-provider-aws
(1.14, pkg/providers/instancetype/types.go)."""
DEFAULT_POLICY: Final = "WhenEmptyOrUnderutilized"
"""What Karpenter takes of a pool that names no consolidationPolicy: the default of its definition
(sigs.k8s.io/karpenter 1.14, pkg/apis/v1/nodepool.go)."""
_MOVING: Final = (None, DEFAULT_POLICY, "Balanced")
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
        policy: `consolidationPolicy`; None for a pool that names none, and gets DEFAULT_POLICY.
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


class Misplaced(StrEnum):
    """Why a taint does not belong where it stands."""

    STAYS = "a startup taint is a taint of the pool too"
    AGAIN = "a taint stands twice"
    GOES = "a taint of the pool is one that an agent takes away"


AGENT_TAINTS: Final = (
    "ebs.csi.aws.com/agent-not-ready",
    "efs.csi.aws.com/agent-not-ready",
    "fsx.csi.aws.com/agent-not-ready",
    "s3.csi.aws.com/agent-not-ready",
    "node.cilium.io/agent-not-ready",
)
"""Keys of taints that are meant to go once an agent runs on the node."""


def misplaced(
    startup: Sequence[tuple[str, str]], taints: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, int, Misplaced]]:
    """Which taints stand in the wrong list or twice: the list, as Karpenter names it, and where.

    Args:
        startup: Key and effect of each: Karpenter refuses a pair that stands twice, and takes one
            key with two effects, as `validateTaints` of sigs.k8s.io/karpenter has it (1.14,
            pkg/apis/v1/nodeclaim_validation.go).
        taints: Those of the taints that stay. Of one that goes Karpenter does not know, and
            launches no node for pods that do not tolerate it:
            https://karpenter.sh/docs/concepts/nodepools/#cilium-startup-taint.
    """
    for index, pair in enumerate(startup):
        if pair in taints:
            yield "startupTaints", index, Misplaced.STAYS
        elif pair in startup[:index]:
            yield "startupTaints", index, Misplaced.AGAIN
    told = {key for key, _ in startup}
    for index, (key, effect) in enumerate(taints):
        if (key, effect) in taints[:index]:
            yield "taints", index, Misplaced.AGAIN
        if key in AGENT_TAINTS and key not in told:
            yield "taints", index, Misplaced.GOES
