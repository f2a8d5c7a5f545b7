"""GPU Operators without node feature discovery, where no nodes are declared.

Source: `hasNFDLabels` of controllers/state_manager.go in NVIDIA/gpu-operator, which takes a node
for one with GPUs by the labels that NFD writes alone; November 2026. Where nodes are declared, the
labels that these have decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import LOST_WITHOUT_NFD, OPERATOR_CHART, chart_of
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.daemonsets import UNLABELLED
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SWITCH: Final = ("nfd", "enabled")


@edge(UNLABELLED)
def operators(inventory: Inventory) -> Iterator[Judgement]:
    """Of objects that are applied: a command or a guide is for clusters that have it, or not."""
    for cluster in inventory.clusters():
        workers = any(daemon.role == "nfd" for daemon in daemons(inventory, cluster))
        if workers or inventory.of(NodeSet, cluster):
            continue
        for release in inventory.of(Release, cluster):
            file = release.source.file
            of_command = is_guide(file) or file.endswith(".sh")
            if is_without_nfd(release) and not of_command:
                yield Problem(
                    UNLABELLED,
                    release.source,
                    value_place(release, _SWITCH),
                    f"{at_start(release.source.name)} has node feature discovery off, and there is "
                    f"none here: {LOST_WITHOUT_NFD[OPERATOR_CHART]}.",
                    "Set `nfd.enabled: true`, or install NFD.",
                    "warning",
                )


def is_without_nfd(item: Any) -> bool:
    """Whether an item is a release of the operator whose values switch NFD off."""
    of_operator = isinstance(item, Release) and chart_of(item.chart) == OPERATOR_CHART
    return of_operator and at(item.values, *_SWITCH) is False
