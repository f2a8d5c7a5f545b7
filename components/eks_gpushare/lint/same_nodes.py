"""Nodes of a listing that differ in nothing that a pod could mind are one kind of node."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import Nodes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.document import Document

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
    first: dict[str, int] = {}
    made: list[Item] = []
    for item in found:
        key = _key(item)
        if key is None or not isinstance(item, Nodes):
            made.append(item)
        elif key in first:
            before = made[first[key]]
            if isinstance(before, Nodes) and isinstance(before.most, int):
                made[first[key]] = replace(before, least=before.most + 1, most=before.most + 1)
        else:
            first[key] = len(made)
            made.append(item)
    return made


def _key(item: Item) -> str | None:
    """What is the same of nodes of one kind; None of all but single nodes that are known."""
    document = item.source.document
    if not isinstance(item, Nodes) or not isinstance(document, Document):
        return None
    if at(document.value, "kind") != "Node":
        return None
    if item.labels is UNKNOWN or item.taints is UNKNOWN:
        return None
    labels = {key: str(each) for key, each in item.labels.items() if not key.startswith(_OWN)}
    return json.dumps([sorted(labels.items()), sorted(map(str, item.taints)), item.cluster])
