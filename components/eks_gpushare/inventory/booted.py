"""Nodes as they are once they have joined: what their user data and their cluster make of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import CLUSTER_VERSION, NodeSet, Pointer
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import registered
from eks_gpushare.inventory.values import PartlyKnown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import Item


def booted(found: Iterable[Item]) -> Iterator[Item]:
    """The items, with nodes as they are once their kubelet has registered them."""
    every = list(found)
    version = _version(every)
    for item in every:
        yield _booted(item, version) if isinstance(item, NodeSet) else item


def _version(found: Iterable[Item]) -> str:
    """The one that all have of which it is told, empty where there is none such.

    Nodes of EKS and of Karpenter that name none are of their control plane's.
    """
    told = [item.kubernetes for item in found if isinstance(item, NodeSet) and item.kubernetes]
    told += [
        item.name for item in found if isinstance(item, Pointer) and item.kind == CLUSTER_VERSION
    ]
    first = told[0] if told else ""
    return str(first) if first is not UNKNOWN and all(each == first for each in told) else ""


def _booted(nodes: NodeSet, version: str) -> NodeSet:
    nodes = replace(nodes, kubernetes=version) if version else nodes
    if not nodes.user_data:
        return nodes
    more = registered(nodes.user_data)
    labels, taints, only = nodes.labels, nodes.taints, set(nodes.only_by_boot)
    if labels is not UNKNOWN and more.labels is not UNKNOWN:
        new = {key: value for key, value in more.labels.items() if key not in labels}
        only |= new.keys()
        kind = type(more.labels if isinstance(more.labels, PartlyKnown) else labels)
        labels = kind({**new, **labels})  # type: ignore[call-arg]  # of known ones or not
    if taints is not UNKNOWN and more.taints is not UNKNOWN:
        passing = nodes.startup_taints
        known = {(taint.key, taint.effect) for taint in taints}
        known |= {(taint.key, taint.effect) for taint in (() if passing is UNKNOWN else passing)}
        added = tuple(taint for taint in more.taints if (taint.key, taint.effect) not in known)
        # Which of them a startup taint stands for is not known where those are not.
        only |= set() if passing is UNKNOWN else {str(taint) for taint in added}
        taints = (*taints, *added)
    return replace(nodes, labels=labels, taints=taints, only_by_boot=frozenset(only))
