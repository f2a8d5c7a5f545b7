"""Pods that select nodes by a label which NFD gives them by rules of one's own.

Source, November 2026: "NodeFeatureRule" and "labels", "labelsTemplate" of
https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html: a
name without a prefix gets NFD's, and a value that begins with `@` is that of an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import FEATURE_RULE, NodeSet, Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

ELSEWHERE: Final = rule_of("GPU1112")
_DOMAIN: Final = "feature.node.kubernetes.io/"
"""What names of NFD's labels begin with: others may be put on nodes by anybody."""
_OF_SOURCES: Final = (
    "cpu-",
    "kernel-",
    "memory-",
    "network-",
    "pci-",
    "storage-",
    "system-",
    "usb-",
)
"""How labels begin that NFD gives by itself."""


@edge(ELSEWHERE)
def feature_rules(inventory: Inventory) -> Iterator[Judgement]:
    """Values that no rule gives of a label, where rules give others of it."""
    for cluster in inventory.clusters():
        rules = [each for each in inventory.of(Pointer, cluster) if each.kind == FEATURE_RULE]
        given = _given(rules)
        if not given or any(is_guide(each.source.file) for each in rules):
            continue
        for nodes in inventory.of(NodeSet, cluster):
            labels = {} if nodes.labels is UNKNOWN else nodes.labels
            given = {key: each for key, each in given.items() if key not in labels}
        for workload, _ in gpu_workloads(inventory, cluster):
            for key, value in pairs(at(workload.spec, "nodeSelector")):
                values = given.get(key, [])
                if values and value is not UNKNOWN and str(text(value)) not in values:
                    yield Problem(
                        ELSEWHERE,
                        workload.source,
                        (*workload.spec_path, "nodeSelector", key),
                        f"{at_start(workload.source.name)} selects nodes with {key}={text(value)}, "
                        f"and NFD is told to give them {', '.join(values)}: it gets no node.",
                        f"Select one of those, or write {text(value)} in {rules[0].source.name}.",
                        "warning",
                    )


def _given(rules: Sequence[Pointer]) -> dict[str, list[str]]:
    """Labels that rules give, each with all its values; none where some are not known."""
    found: dict[str, list[str]] = {}
    for rule in (each for pointer in rules for each in items(at(pointer.spec, "rules"))):
        labels = at(rule, "labels")
        if at(rule, "labelsTemplate") or has_unknown(labels):
            return {}
        for key, value in pairs(labels):
            name = key if "/" in key else f"{_DOMAIN}{key}"
            if name.startswith(_DOMAIN) and not name[len(_DOMAIN) :].startswith(_OF_SOURCES):
                found.setdefault(name, []).append(_text(value))
    unknown = any(pointer.spec is UNKNOWN for pointer in rules)
    return {} if unknown else {key: each for key, each in found.items() if _is_known(each)}


def _text(value: Any) -> str:
    return str(text(value))


def _is_known(values: Sequence[str]) -> bool:
    """Whether none is what NFD finds."""
    return not any(value.startswith("@") for value in values)
