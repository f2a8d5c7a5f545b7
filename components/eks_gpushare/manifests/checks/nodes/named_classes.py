"""NodePools that name a node class which is not there, beside one that was meant.

Source: https://karpenter.sh/docs/troubleshooting/ and "spec.template.spec.nodeClassRef" of
https://karpenter.sh/docs/concepts/nodepools/ (November 2026): such a pool is not ready. Its class
may be in further files: it is told where one lies in the pool's folder that nothing names, called
almost as the one that the pool does.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document, value_of
from eks_gpushare.manifests.rules.room_of_pools import NO_SUBNET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

_CLASS: Final = "EC2NodeClass"
_REF: Final = "nodeClassRef"
_POOL: Final = ("spec", "template", "spec", _REF)
_PLACES: Final = {"NodePool": _POOL, "NodeClaim": ("spec", _REF), "Provisioner": ("spec", _REF)}
"""Where kinds of Karpenter's objects name a class; one of values of a chart may name any."""
_MADE_BY_INSTALLERS: Final = "default"
"""Modules and charts that install Karpenter often bring a class of this name along."""
_CLOSE: Final = 0.8


@edge(NO_SUBNET)
def named_classes(inventory: Inventory) -> Iterator[Judgement]:
    """Of pools with GPUs, where all classes and all that pools name are known."""
    for cluster in inventory.clusters():
        every = inventory.of(NodeLaunch, cluster)
        classes = [each for each in every if at(value_of(each), "kind") == _CLASS]
        nodes = inventory.of(NodeSet, cluster) if classes else ()
        pools = [each for each in nodes if each.provisioner == "karpenter"]
        named = {_named(each) for each in pools}
        there = {each.name for each in classes}
        if UNKNOWN in named | there:
            continue
        spare = [each for each in classes if each.name not in named]
        for pool in pools if spare else ():
            name = _named(pool)
            if name in there or not _is_of_aws(pool) or not has_gpus(pool):
                continue
            if meant := _meant(pool, str(name), spare):
                yield Problem(
                    NO_SUBNET,
                    pool.source,
                    (*_POOL, "name"),
                    f"{at_start(pool.source.name)} names the {_CLASS} {name}, which is not here, "
                    f"and nothing names {meant}: without its class Karpenter launches nothing.",
                    f"Write {meant}, if that was meant.",
                )


def _named(nodes: NodeSet) -> Maybe[str]:
    """The name of the class that something names; of values of a chart it is not known."""
    value = at(value_of(nodes), *nodes.source.path)
    place = _PLACES.get(str(at(value, "kind")))
    name = None if place is None else at(value, *place, "name")
    return name if isinstance(name, str) else UNKNOWN


def _is_of_aws(nodes: NodeSet) -> bool:
    """Whether it is a NodePool whose class is one of AWS."""
    ref = at(value_of(nodes), *nodes.source.path, *_POOL)
    return ref is not None and at(ref, "kind") in (None, _CLASS)


def _meant(pool: NodeSet, name: str, spare: Sequence[NodeLaunch]) -> str | None:
    """The one class beside a pool that is called almost as it names one.

    Where a kustomization builds it a longer name may be what its prefix or suffix makes, which it
    gives to classes and not to what names them.
    """
    folder = pool.source.folder
    beside = [str(each.name) for each in spare if each.source.folder == folder]
    is_whole = isinstance(pool.source.document, Document) and not pool.source.document.build
    near = [
        each
        for each in beside
        if _is_misspelt(each, name) or (is_whole and _is_longer(*sorted((each, name), key=len)))
    ]
    is_told = name != _MADE_BY_INSTALLERS and not is_guide(pool.source.file)
    return near[0] if len(near) == 1 and is_told else None


def _is_longer(short: str, long: str) -> bool:
    return long.startswith(f"{short}-")


def _is_misspelt(one: str, other: str) -> bool:
    """Whether names are the same but for letters of one word: `a-1` and `a-2` are two things."""
    words = list(zip_longest(one.split("-"), other.split("-"), fillvalue=""))
    apart = [(a, b) for a, b in words if a != b]
    is_close = len(apart) == 1 and bool(get_close_matches(apart[0][0], apart[0][1:], cutoff=_CLOSE))
    return is_close and _digits(one) == _digits(other)


def _digits(name: str) -> list[str]:
    return [each for each in name if each in "0123456789"]
