"""Nodes with a label of NVIDIA's without what it begins with, where a chart goes by that alone.

Source: `affinity` in values.yaml of deployments/helm/nvidia-device-plugin of
NVIDIA/k8s-device-plugin at v0.17.1, November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import PLUGIN_CHART, PLUGIN_LABELS
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import NodeSet, Release, Workload
from eks_gpushare.inventory.nodes import NVIDIA
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.inventory.written_labels import values_written
from eks_gpushare.manifests.document import value_of
from eks_gpushare.sharing.labels import PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

UNLABELLED: Final = rule_of("GPU1101")
_BARE: Final = PRESENT_LABEL.removeprefix(NVIDIA)
_NAMED: Final = re.compile(rf"(?<![A-Za-z0-9_./-]){re.escape(_BARE)}(?![A-Za-z0-9_.-])")
_LISTS: Final = ("node-label", "node-label+")


@edge(UNLABELLED)
def bare_labels(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes that configure themselves, beside one release of the plugin's chart without NFD."""
    for cluster in inventory.clusters():
        every = inventory.of(NodeSet, cluster)
        if not _goes_by_labels(inventory, cluster) or _is_selected(inventory, cluster):
            continue
        for nodes in every:
            place = _place(nodes)
            if place is not None and not is_guide(nodes.source.file):
                yield Problem(
                    UNLABELLED,
                    nodes.source,
                    place,
                    f"{at_start(nodes.source.name)} has the label {_BARE}, and the chart of the "
                    f"device plugin goes by {PRESENT_LABEL}: without it, or NFD, it puts no pod "
                    "there.",
                    f"Write {PRESENT_LABEL}.",
                    "warning",
                )


def _goes_by_labels(inventory: Inventory, cluster: str) -> bool:
    """Whether the plugin of a cluster is the chart's, by its own terms, and nobody labels."""
    every = daemons(inventory, cluster)
    plugins = [each for each in every if each.role == "plugin"]
    if {(each.chart, has_unknown(each.spec)) for each in plugins} != {(PLUGIN_CHART, False)}:
        return False
    if any(each.role == "nfd" for each in every):
        return False
    of_chart = PRESENT_LABEL in str(at(plugins[0].spec, "affinity"))
    return of_chart and not values_written(inventory, *PLUGIN_LABELS)


def _is_selected(inventory: Inventory, cluster: str) -> bool:
    """Whether somebody goes by the label as it is."""
    told: list[Any] = [each.spec for each in inventory.of(Workload, cluster)]
    told += [each.values for each in inventory.of(Release, cluster)]
    return any(each is UNKNOWN or _NAMED.search(str(each)) for each in told)


def _place(nodes: NodeSet) -> FieldPath | None:
    """Where a node that configures itself has the label; None where it has it not."""
    value = at(value_of(nodes), *nodes.source.path)
    if at(value, "nodeLabels", _BARE) is not None:
        return ("nodeLabels", _BARE)
    for key in _LISTS:
        for number, each in enumerate(items(at(value, key))):
            if str(text(each)).partition("=")[0] == _BARE:
                return (key, number)
    return None
