"""Who holds which shares of a cluster at a moment, so that their cost has an owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.nodes import CAPACITY_LABELS, counted_names, gpu_nodes_of
from eks_gpushare.live.same_cluster import refuse_another_cluster
from eks_gpushare.sharing.cost_split import PodShares
from eks_gpushare.sharing.paid_nodes import ObservedNodes, UseMoment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects

KINDS: Final = ("Node", "Pod", "ConfigMap")
"""Kinds of objects that are looked at."""


def held_shares(objects: ClusterObjects, stack: Stack) -> UseMoment:
    """The nodes of a stack in a cluster, and what pods that are on them have asked for.

    Args:
        objects: What was read of the cluster.
        stack: The stack.

    Raises:
        CannotLookError: If it is another cluster, or its pods are not known.
    """
    if "Pod" in objects.unread:
        raise CannotLookError(f"{objects.whence}: {objects.unread['Pod']}.")
    every = nodes_of(objects, stack)
    nodes = [node for node in every if node.pool in stack.plans]
    holdings = [
        PodShares(node.pool, one.owner.namespace, one.resource, Fraction(one.shares), kind)
        for node in nodes
        for kind in [node.type_name]
        for one in node.holders
    ]
    others = [node for node in every if node.pool not in stack.plans]
    return UseMoment(tuple(observed(nodes)), tuple(holdings), tuple(_not_counted(others)))


def nodes_of(objects: ClusterObjects, stack: Stack) -> Sequence[LiveNode]:
    """The nodes with GPUs of a cluster that has something of a stack.

    Raises:
        CannotLookError: If it has nothing of it.
    """
    nodes = gpu_nodes_of(objects, stack.plans)
    refuse_another_cluster(objects, stack, nodes)
    return nodes


def observed(nodes: Iterable[LiveNode]) -> Iterator[ObservedNodes]:
    """Nodes that cost the same, together."""
    found: dict[tuple[str, str, str | None], list[LiveNode]] = defaultdict(list)
    for node in nodes:
        found[node.pool, node.type_name, _capacity(node)].append(node)
    for key, alike in found.items():
        advertised = Counter[str]()
        for node in alike:
            advertised.update(node.advertised)
        shares = {name: Fraction(count) for name, count in advertised.items()}
        yield ObservedNodes(*key, Fraction(len(alike)), shares)


def capacity_of(told: str) -> str | None:
    """As what a node was bought, by the value of its label; None of an unknown one.

    Karpenter writes `on-demand`, `spot` and `reserved`, EKS `ON_DEMAND`, `SPOT` and
    `CAPACITY_BLOCK`.
    """
    words = told.lower().replace("_", "-")
    known = {"on-demand": "onDemand", "reserved": "reserved", "spot": "spot"}
    return {**known, "capacity-block": "capacityBlock"}.get(words)


def _capacity(node: LiveNode) -> str | None:
    told = (node.labels.get(label, "") for label in CAPACITY_LABELS)
    return next((found for label in told if (found := capacity_of(label))), None)


def _not_counted(nodes: Sequence[LiveNode]) -> Iterator[str]:
    pools: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        pools[node.pool].append(node.name)
    for pool, names in pools.items():
        yield f"Not counted is {pool}, which the stack does not declare: {counted_names(names)}."
