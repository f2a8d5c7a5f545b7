"""Taints that somebody gives to GPU nodes one by one, against the NFD that a plugin's chart brings.

Where no nodes are declared, a taint of NVIDIA's key tells that there are such. The chart's NFD
worker tolerates it with the value `present` alone, and the plugin goes by the worker's labels:
`node-feature-discovery.worker.tolerations` in the chart's values of NVIDIA/k8s-device-plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.chart_daemonsets import PLUGIN_CHART, PLUGIN_LABELS
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.matching import is_tolerated
from eks_gpushare.inventory.nodes import NVIDIA
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import keeping_off
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.inventory.written_labels import values_written
from eks_gpushare.sharing.labels import PRESENT_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

KEPT_OUT = rule_of("GPU1100")


@edge(KEPT_OUT)
def given_taints(inventory: Inventory) -> Iterator[Judgement]:
    """Of one release of the plugin's chart, whose own NFD is the only one."""
    for cluster in inventory.clusters():
        worker = _worker(inventory, cluster)
        every = inventory.of(NodeSet, cluster)
        if worker is None or offers(inventory, cluster).every:
            continue  # of nodes that are declared it is told by what they have
        if _may_be_labelled(inventory, every):
            continue
        said: set[str] = set()
        for nodes in every:
            if nodes.taints is UNKNOWN or is_guide(nodes.source.file):
                continue
            for taint in keeping_off(nodes.taints):
                tolerated = is_tolerated(taint, items(at(worker.spec, "tolerations")))
                if taint.key.startswith(NVIDIA) and not tolerated and str(taint) not in said:
                    said.add(str(taint))
                    yield Problem(
                        KEPT_OUT,
                        worker.source,
                        worker.place,
                        f"{at_start(worker.title)} does not tolerate the taint {taint} of "
                        f"{nodes.source.name}. It must: nodes without NFD's labels get no pod of "
                        "the device plugin, and advertise no GPU.",
                        f"Add {{key: {taint.key}, operator: Exists}} to `{worker.setting}`, where "
                        "a list takes the place of the chart's own, or give the nodes the label "
                        f"{PRESENT_LABEL}=true.",
                        "warning",
                    )


def _worker(inventory: Inventory, cluster: str) -> Daemon | None:
    """The NFD worker by which alone the one plugin of a cluster finds nodes."""
    every = daemons(inventory, cluster)
    plugins = [each for each in every if each.role == "plugin"]
    workers = [each for each in every if each.role == "nfd"]
    if len(plugins) != 1 or len(workers) != 1 or plugins[0].item is not workers[0].item:
        return None
    (plugin,), (worker,) = plugins, workers
    values = getattr(plugin.item, "values", UNKNOWN)
    if plugin.chart != PLUGIN_CHART or worker.is_on is not True or is_guide(worker.source.file):
        return None
    own_terms = at(values, "affinity") is None
    return worker if own_terms and not has_unknown(worker.spec) else None


def _may_be_labelled(inventory: Inventory, every: Sequence[NodeSet]) -> bool:
    """Whether somebody gives nodes a label that the plugin goes by, or labels are not known."""
    keys = set(PLUGIN_LABELS)
    # Also by what is not followed: a loop over nodes, a patch, a function.
    return bool(values_written(inventory, *PLUGIN_LABELS)) or any(
        each.labels is UNKNOWN or not keys.isdisjoint(each.labels) for each in every
    )
