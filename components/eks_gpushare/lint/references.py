"""What items of one file name that stands in another: a release its ConfigMap, a pool its class."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import ConfigMap, Nodes, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.node_classes import class_named, class_of
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, OPERATOR
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import Item

_CONFIGS = {DEVICE_PLUGIN: ("config", "name"), OPERATOR: ("devicePlugin", "config", "name")}


def references(items: Iterable[Item], classes: Iterable[Document]) -> dict[str, list[str]]:
    """The files that a file names something of, where only one has it, by its normal path.

    Args:
        items: Items of all files.
        classes: Documents that are node classes.
    """
    items = list(items)
    having: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if isinstance(item, ConfigMap) and isinstance(item.name, str):
            having.setdefault(("map", item.name), set()).update(_file(item.source.document))
    for document in classes:
        if (found := class_of(document)) is not None:
            having.setdefault(("class", found[0]), set()).update(_file(document))
    named: dict[str, list[str]] = {}
    for item in items:
        for key in _names(item):
            others = having.get(key, set())
            for file in _file(item.source.document):
                if len(others) == 1 and file not in others:
                    named.setdefault(file, []).extend(others)
    return named


def _names(item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item, Release) and item.values is not UNKNOWN and item.chart in _CONFIGS:
        name = at(item.values, *_CONFIGS[item.chart])
        if isinstance(name, str) and name:
            yield "map", name
    if isinstance(item, Nodes) and item.provisioner == "karpenter":
        name = class_named(item)
        if name is not None:
            yield "class", name


def _file(document: object) -> Iterator[str]:
    if isinstance(document, Document):
        yield posixpath.normpath(document.file)
