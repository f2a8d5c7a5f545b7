"""NodePools that name a node class which is not there, beside one that was meant.

Source: https://karpenter.sh/docs/troubleshooting/ and "spec.template.spec.nodeClassRef" of
https://karpenter.sh/docs/concepts/nodepools/ (November 2026): such a pool is not ready. Its class
may be in further files: it is told where one lies in the pool's folder that no pool names, called
almost as the one that the pool does.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.room_of_pools import NO_SUBNET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_NAMED: Final = ("spec", "template", "spec", "nodeClassRef")
_CLASS: Final = "EC2NodeClass"
_CLOSE: Final = 0.8


@edge(NO_SUBNET)
def named_classes(inventory: Inventory) -> Iterator[Judgement]:
    """Of pools with GPUs, where all classes and all that pools name are known."""
    for cluster in inventory.clusters():
        classes = [
            each
            for each in inventory.of(NodeLaunch, cluster)
            if at(value_of(each), "kind") == _CLASS
        ]
        pools = [
            each
            for each in inventory.of(NodeSet, cluster)
            if at(value_of(each), "kind") == "NodePool" and each.provisioner == "karpenter"
        ]
        named = [at(value_of(each), *_NAMED, "name") for each in pools]
        there = [each.name for each in classes]
        if UNKNOWN in (*named, *there):
            continue
        for nodes, name in zip(pools, named, strict=True):
            spare = [each for each in classes if each.name not in named]
            meant = _meant(nodes, str(name), spare)
            if name and name not in there and meant and has_gpus(nodes):
                yield Problem(
                    NO_SUBNET,
                    nodes.source,
                    (*_NAMED, "name"),
                    f"{at_start(nodes.source.name)} names the {_CLASS} {name}, which is not here, "
                    f"and none names {meant}: without its class Karpenter launches nothing.",
                    f"Write {meant}, if that was meant.",
                )


def _meant(nodes: NodeSet, name: str, spare: Sequence[NodeLaunch]) -> str | None:
    """The one class beside a pool that is called almost as it names one."""
    folder = _folder(nodes)
    beside = [str(each.name) for each in spare if _folder(each) == folder]
    longer = [each for each in beside if each.startswith(f"{name}-") or name.startswith(f"{each}-")]
    near = longer or get_close_matches(name, beside, 2, _CLOSE)
    return near[0] if len(near) == 1 and not is_guide(nodes.source.file) else None


def _folder(item: NodeSet | NodeLaunch) -> str:
    return item.source.file.rpartition("/")[0]
