"""Whether the limits of NodePools leave room for one of their nodes, as Karpenter takes it to be.

Source, November 2026: `filterByRemainingResources` of
pkg/controllers/provisioning/scheduling/scheduler.go in kubernetes-sigs/karpenter, which goes by the
capacity of instance types, with what a NodeOverlay says of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import NodeSet, Overlay
from eks_gpushare.inventory.nodes import CATALOG, NodeKind
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.promised import meaning, told_of
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.room_of_pools import NO_ROOM_FOR_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.promised import Told

_MIB: Final = 2**20
_GIB: Final = 2**30


@edge(NO_ROOM_FOR_ONE)
def limits(inventory: Inventory) -> Iterator[Judgement]:
    """Those of pools whose instance types are all known."""
    for cluster in inventory.clusters():
        pools = [(nodes, _types(nodes)) for nodes in inventory.of(NodeSet, cluster)]
        kinds = [NodeKind(nodes, each) for nodes, types in pools for each in types]
        told = iter(map(told_of, kinds, meaning(inventory.of(Overlay, cluster), kinds)))
        for nodes, types in pools:
            yield from _too_low(nodes, types, [next(told) for _ in types])


def _types(nodes: NodeSet) -> list[InstanceType]:
    """The types of a pool of Karpenter with limits, if all are known."""
    of_file = isinstance(nodes.source.document, Document)
    if not of_file or nodes.provisioner != "karpenter" or nodes.limits is UNKNOWN:
        return []
    names = [] if nodes.instance_types is UNKNOWN else nodes.instance_types
    types = [CATALOG.find(name) for name in names]
    known = [each for each in types if each is not None]
    return known if len(known) == len(types) else []


def _too_low(
    nodes: NodeSet, types: Sequence[InstanceType], told: Sequence[Told | None]
) -> Iterator[Problem]:
    for resource, given in pairs(nodes.limits) if types else ():
        limit = None if given is UNKNOWN else quantity(str(text(given)))
        least = _least(str(resource), types, told)
        # A limit of 0 switches a pool off on purpose.
        if limit and least and limit < least:
            of = (
                f"{least // _GIB} GiB of memory"
                if resource == "memory"
                else f"{least} of {resource}"
            )
            yield Problem(
                NO_ROOM_FOR_ONE,
                nodes.source,
                ("spec", "limits", resource),
                f"{at_start(nodes.source.name)} limits {resource} to {text(given)}, and the "
                f"smallest of its nodes has {of}.",
                "Raise the limit to that of as many nodes as there may be.",
            )


def _least(resource: str, types: Sequence[InstanceType], told: Sequence[Told | None]) -> int | None:
    """What the smallest node has of a resource; None where that is not known."""
    if resource == "cpu":
        return min(each.vcpus for each in types)
    if resource == "memory":
        return min(each.memory_mib for each in types) * _MIB
    counts = [None if each is None else each.resources.get(resource) for each in told]
    return None if None in counts else min(count for count in counts if count is not None)
