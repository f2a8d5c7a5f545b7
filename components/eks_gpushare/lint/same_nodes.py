"""Nodes of a listing that differ in nothing that a pod could mind are one kind of node."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.inventory.items import Item

_OWN: Final = (
    *("kubernetes.io/hostname", "topology.", "failure-domain.", "k8s.io/cloud-provider"),
    *("nvidia.com/gfd.timestamp", "alpha.eksctl.io/instance-id", "topology.k8s.aws/"),
)
"""Beginnings of labels that each node has for itself."""


def together(found: Iterable[Item]) -> list[Item]:
    """The items, with as many nodes as there are of each kind counted on the first."""
    return [_counted(group) for group in alike(found)]


def alike(found: Iterable[Item]) -> list[list[Item]]:
    """The items, nodes that are of one kind together and each other item by itself."""
    groups: dict[str | int, list[Item]] = {}
    for number, item in enumerate(found):
        key = _key(item)
        groups.setdefault(number if key is None else key, []).append(item)
    return list(groups.values())


def _counted(group: list[Item]) -> Item:
    first = group[0]
    if isinstance(first, NodeSet) and group[1:]:
        return replace(first, least=len(group), most=len(group))
    return first


def _key(item: Item) -> str | None:
    """What is the same of nodes of one kind; None of all but single nodes that are known."""
    if not isinstance(item, NodeSet):
        return None
    if at(getattr(item.source.document, "value", None), "kind") != "Node":
        return None
    if item.labels is UNKNOWN or item.taints is UNKNOWN:
        return None
    labels = {key: str(each) for key, each in item.labels.items() if not key.startswith(_OWN)}
    taints = sorted(map(str, item.taints))
    return json.dumps([sorted(labels.items()), taints, item.cluster, str(item.ami)])
