"""Nodes with the labels and taints that their user data has the kubelet register them with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import registered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import Item


def booted(found: Iterable[Item]) -> Iterator[Item]:
    """The items, with nodes as they are once their kubelet has registered them."""
    for item in found:
        yield _booted(item) if isinstance(item, NodeSet) and item.user_data else item


def _booted(nodes: NodeSet) -> NodeSet:
    more = registered(nodes.user_data)
    labels, taints, only = nodes.labels, nodes.taints, set(nodes.only_by_boot)
    if labels is not UNKNOWN and more.labels is not UNKNOWN:
        new = {key: value for key, value in more.labels.items() if key not in labels}
        only |= new.keys()
        labels = {**new, **labels}
    if taints is not UNKNOWN and more.taints is not UNKNOWN:
        passing = nodes.startup_taints
        known = {(taint.key, taint.effect) for taint in taints}
        known |= {(taint.key, taint.effect) for taint in (() if passing is UNKNOWN else passing)}
        added = tuple(taint for taint in more.taints if (taint.key, taint.effect) not in known)
        # Which of them a startup taint stands for is not known where those are not.
        only |= set() if passing is UNKNOWN else {str(taint) for taint in added}
        taints = (*taints, *added)
    return replace(nodes, labels=labels, taints=taints, only_by_boot=frozenset(only))
