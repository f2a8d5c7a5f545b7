"""Pods that select nodes by a label which NFD gives them by rules of one's own.

Source, November 2026: "NodeFeatureRule" and "labels", "labelsTemplate" of
https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html: a
name without a prefix gets NFD's, and a value that begins with `@` is that of an attribute.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import FEATURE_RULE, ConfigMap, NodeSet, Pointer, Release
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
    *("cpu-", "custom-", "iommu-", "kernel-", "memory-", "network-", "pci-", "rdma."),
    *("storage-", "system-", "usb-"),
)
"""How labels begin that NFD gives by itself."""
_DIGITS: Final = re.compile(r"[0-9]+")
_CLOSE: Final = 0.8
_LEAST: Final = 3
"""Fewest characters that a word begins with and that tell what is meant."""


@edge(ELSEWHERE)
def feature_rules(inventory: Inventory) -> Iterator[Judgement]:
    """Values that no rule gives of a label, where one is near that a rule gives.

    Other values may be of what a worker of NFD, a program or somebody by hand puts on nodes.
    """
    for cluster in inventory.clusters():
        rules = [each for each in inventory.of(Pointer, cluster) if each.kind == FEATURE_RULE]
        given = _given(rules)
        if not given or any(is_guide(each.source.file) for each in rules):
            continue
        labels = [nodes.labels for nodes in inventory.of(NodeSet, cluster)]
        for workload, _ in gpu_workloads(inventory, cluster) if UNKNOWN not in labels else ():
            for key, value in pairs(at(workload.spec, "nodeSelector")):
                wanted, values = str(text(value)), given.get(key, [])
                near = [each for each in values if _is_near(wanted, each)]
                if value is UNKNOWN or wanted in values or not near:
                    continue
                if not any(at(each, key) for each in labels) and not _is_said(inventory, key):
                    yield Problem(
                        ELSEWHERE,
                        workload.source,
                        (*workload.spec_path, "nodeSelector", key),
                        f"{at_start(workload.source.name)} selects nodes with {key}={wanted}, "
                        f"and NFD is told to give them {', '.join(values)}: it gets no node.",
                        f"Select {near[0]}, or write {wanted} in {rules[0].source.name}.",
                        "warning",
                    )


def _given(rules: Sequence[Pointer]) -> dict[str, list[str]]:
    """Labels that rules give, each with all its values; none where some are not known."""
    listed = [at(pointer.spec, "rules") for pointer in rules]
    every = [rule for each in listed for rule in items(each)]
    labels = [at(rule, "labels") for rule in every]
    if has_unknown([listed, labels]) or any(at(rule, "labelsTemplate") for rule in every):
        return {}
    found: dict[str, list[str]] = {}
    for key, value in (pair for each in labels for pair in pairs(each)):
        name = key if "/" in key else f"{_DOMAIN}{key}"
        if name.startswith(_DOMAIN) and not name[len(_DOMAIN) :].startswith(_OF_SOURCES):
            found.setdefault(name, []).append(str(text(value)))
    # What begins with the sign is what NFD finds.
    return {
        key: list(dict.fromkeys(values))
        for key, values in found.items()
        if not any(value.startswith("@") for value in values)
    }


def _is_near(wanted: str, given: str) -> bool:
    """Whether one is written for the other, and not for one of several that are called alike."""
    if _DIGITS.findall(wanted) != _DIGITS.findall(given):
        return False
    shorter, longer = sorted((wanted.lower(), given.lower()), key=len)
    is_begun = len(shorter) >= _LEAST and longer.startswith(shorter)
    return is_begun or SequenceMatcher(None, longer, shorter).ratio() >= _CLOSE


def _is_said(inventory: Inventory, key: str) -> bool:
    """Whether values of a chart or a ConfigMap name the label, as those of NFD's workers do."""
    name = key.removeprefix(_DOMAIN)
    texts = [str(each.values) for each in inventory.of(Release)]
    texts += [str(each.data) for each in inventory.of(ConfigMap)]
    return any(name in each for each in texts)
