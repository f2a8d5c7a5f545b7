"""What goes by labels of node feature discovery without any, where no nodes are declared.

Sources, November 2026: templates/daemonset.yml and `affinity` of values.yaml in
deployments/helm/nvidia-device-plugin of NVIDIA/k8s-device-plugin; `hasNFDLabels`, which takes a
node for one with GPUs by the labels that NFD writes alone, and `getGPUNodeOSInfo` of
controllers/state_manager.go in NVIDIA/gpu-operator. Where nodes are declared, the labels that these
have decide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import (
    CHART_DAEMONSETS,
    LOST_WITHOUT_NFD,
    NFD_CHART,
    OPERATOR_CHART,
    PLUGIN_CHART,
    chart_of,
)
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.daemonsets import UNLABELLED, tells_vendors
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import PartlyKnown, at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


_TERMS: Final = CHART_DAEMONSETS[PLUGIN_CHART][0].default_terms
_NFD_OF: Final[Mapping[str, tuple[str, ...]]] = {NFD_CHART: (), OPERATOR_CHART: (NFD_CHART,)}
"""Charts that bring NFD, with where its values are."""
_OWN: Final = re.compile(
    r"(?!feature\.node\.kubernetes\.io/|nvidia\.com/)|feature\.node\.kubernetes\.io/pci-[0-9a-f]+_10de"
)
"""Labels that are no sign of those that the chart's own affinity goes by."""


@edge(UNLABELLED)
def plugins(inventory: Inventory) -> Iterator[Judgement]:
    """Plugins that select nodes of their own, and leave the chart's affinity as it is.

    Who labels nodes by hand may do so with the chart's labels as well.
    """
    for cluster in inventory.clusters():
        every = daemons(inventory, cluster)
        tell = any(each.role == "nfd" and tells_vendors(each) for each in every)
        if tell or inventory.of(NodeSet, cluster):
            continue
        for daemon in every:
            release = daemon.item
            if not isinstance(release, Release) or daemon.role != "plugin":
                continue
            if isinstance(release.values, PartlyKnown):
                continue
            selector = at(daemon.spec, "nodeSelector")
            is_left = items(required_terms(daemon.spec)) == [*_TERMS]
            if not pairs(selector) or has_unknown(selector) or not is_left:
                continue
            key, value = pairs(selector)[0]
            if all(_OWN.match(name) for name, _ in pairs(selector)):
                yield Problem(
                    UNLABELLED,
                    release.source,
                    value_place(release, ("nodeSelector",)),
                    f"{at_start(daemon.title)} selects {key}={value}, and by the chart's own "
                    "affinity nodes that have pci-10de.present of NFD, or nvidia.com/gpu.present, "
                    "as well. Nothing here gives a node these.",
                    "Write `affinity: null` beside it, which {} is not, or give the nodes "
                    "nvidia.com/gpu.present=true.",
                    "info",
                )


@edge(UNLABELLED)
def systems(inventory: Inventory) -> Iterator[Judgement]:
    """NFD that leaves out the node's system, beside an operator that asks its labels for it."""
    for cluster in inventory.clusters():
        releases = inventory.of(Release, cluster)
        if not any(chart_of(each.chart) == OPERATOR_CHART for each in releases):
            continue
        for release in releases:
            above = _NFD_OF.get(chart_of(release.chart) or "")
            if above is None:
                continue
            for key in ("labelSources", "sources"):
                path = (*above, "worker", "config", "core", key)
                given = at(release.values, *path)
                listed = [str(text(each)) for each in items(given)]
                if listed and not {"all", "system"} & {*listed} and not has_unknown(given):
                    yield Problem(
                        UNLABELLED,
                        release.source,
                        value_place(release, path),
                        f"{at_start(release.source.name)} has labels of {', '.join(listed)} alone. "
                        "The GPU Operator asks the label system-os_release.ID for a node's system, "
                        "and without it deploys nothing.",
                        "Add system to it.",
                        "warning",
                    )


def is_without_nfd(item: Any) -> bool:
    """Whether an item is a release of the operator whose values switch NFD off."""
    of_operator = isinstance(item, Release) and chart_of(item.chart) == OPERATOR_CHART
    return of_operator and at(item.values, *_SWITCH) is False
