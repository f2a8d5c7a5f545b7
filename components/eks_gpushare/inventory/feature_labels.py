"""Labels that NFD gives nodes by rules of one's own, so that no declaration of nodes has them.

Source, December 2026: "NodeFeatureRule" and "custom feature source" of
https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html. A
name without a prefix gets NFD's, which is known to be given by others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import FEATURE_RULE, Pointer, Release
from eks_gpushare.inventory.values import at, items, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory

_WORKERS: Final = (("worker",), ("nfd", "worker"), ("node-feature-discovery", "worker"))
"""Where values have what workers are configured with: of NFD's chart, and of those around it."""
_CUSTOM: Final = ("config", "sources", "custom")
_TEMPLATED: Final = re.compile(r"^[ \t]*([A-Za-z0-9._/-]+)=", re.MULTILINE)


def labels_of_rules(inventory: Inventory, cluster: str) -> frozenset[str]:
    """The keys of labels that rules give to nodes with some feature, whichever these are."""
    return frozenset(
        key for rule in _rules(inventory, cluster) for key in _labels(rule) if "/" in key
    )


def _rules(inventory: Inventory, cluster: str) -> Iterator[Any]:
    for pointer in inventory.of(Pointer, cluster):
        if pointer.kind == FEATURE_RULE:
            yield from items(at(pointer.spec, "rules"))
    for release in inventory.of(Release, cluster):
        for worker in _WORKERS:
            yield from items(at(release.values, *worker, *_CUSTOM))


def _labels(rule: Any) -> Iterator[str]:
    yield from (str(key) for key, _ in pairs(at(rule, "labels")))
    yield from _TEMPLATED.findall(str(at(rule, "labelsTemplate")))
