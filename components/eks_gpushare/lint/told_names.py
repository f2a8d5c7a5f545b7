"""What an item names, and what it gives others by names: a release its ConfigMap, a pool labels."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.drivers import installs, lacks_driver
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import (
    ConfigMap,
    NodeLaunch,
    NodeSet,
    Pointer,
    Release,
    Workload,
)
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.lint.node_classes import class_named
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, OPERATOR
from eks_gpushare.manifests.checks.charts.discovery import is_without_nfd
from eks_gpushare.manifests.document import Document, value_of
from eks_gpushare.manifests.rules.gpu_names import RESOURCE_NAMES
from eks_gpushare.sharing.labels import PRESENT_LABEL
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.items import Item

SHARED: Final = "shared"
"""Kind of what a configuration of the device plugin shares under its own name."""
LABEL: Final = "label"
"""Kind of what nodes are given: labels that have the name of a resource, and labels and taints."""
NFD: Final = ("discovery", "nfd")
"""What a release of the operator without node feature discovery needs of others."""
CLUSTER: Final = "cluster"
"""Kind of where applications of Argo CD go."""
SOME_CLUSTERS: Final = "some clusters"
"""Kind of sets of applications that choose among several by their labels."""
DRIVER: Final = ("driver", "operator")
"""What nodes whose image has no driver need."""
CAPABLE: Final = "nvidia.com/mps.capable=true"
"""The label by which the chart's MPS daemon goes."""
KARPENTER: Final = "karpenter"
"""The chart of Karpenter, by its release: an earlier one serves what the newest does not."""
SERVED: Final = ("served", "karpenter")
"""What an object of Karpenter's needs of others."""
MADE: Final = "made"
"""Kind of a cluster that a file makes, by its name."""
NODES_OF: Final = "nodes of"
"""Kind of a cluster that has nodes with GPUs, by its name."""
_WHERE_ARGO_IS: Final = ("in-cluster", "https://kubernetes.default.svc")
"""Of a hub, this is where the applications themselves are, and their pods elsewhere."""
_CONTROLLER: Final = re.compile(r"/karpenter/controller:v?([0-9.]+)")
"""The image by which a chart that is rendered runs it."""
_CONFIGS: Final = {DEVICE_PLUGIN: ("config", "name"), OPERATOR: ("devicePlugin", "config", "name")}


def names_of(item: Item) -> Iterator[tuple[str, str]]:
    """Kinds and names of what an item names."""
    if isinstance(item, Release) and item.values is not UNKNOWN and item.chart in _CONFIGS:
        name = at(item.values, *_CONFIGS[item.chart])
        if isinstance(name, str):
            yield "map", name
        if item.chart == DEVICE_PLUGIN and "mps:" in str(at(item.values, "config")):
            yield LABEL, f"label {CAPABLE}"
    if isinstance(item, Release) and item.source.condition:
        yield SOME_CLUSTERS, item.source.condition
    if is_without_nfd(item):
        yield NFD
    if isinstance(item, Pointer) and item.kind == "Application":
        yield from _clusters(item)
    if isinstance(item, Workload):
        yield from _selected(item)
    if isinstance(item, NodeLaunch):
        yield SERVED
    if isinstance(item, NodeSet):
        yield from _named_by(item)


def _named_by(nodes: NodeSet) -> Iterator[tuple[str, str]]:
    if nodes.provisioner == "byHand":
        yield from _put(nodes)
    elif nodes.provisioner == "karpenter":
        if (name := class_named(nodes)) is not None:
            yield "class", name
        yield SERVED
    if lacks_driver(nodes):
        yield DRIVER


def _clusters(item: Pointer) -> Iterator[tuple[str, str]]:
    """The cluster that an application goes to, if it is another than Argo CD's own."""
    told = at(item.spec, "destination")
    where = at(told, "name") or at(told, "server")
    if isinstance(where, str) and where not in _WHERE_ARGO_IS:
        yield CLUSTER, where


def _selected(item: Workload) -> Iterator[tuple[str, str]]:
    if GPU in str(at(item.spec, "containers")):
        yield SHARED, GPU
    for part in ("nodeSelector", "affinity"):
        for label in RESOURCE_NAMES.findall(str(at(item.spec, part))):
            yield LABEL, label


def given_by(item: Item) -> Iterator[tuple[str, str]]:
    """What nodes are given: shares, labels with a resource's name, and by pools all of theirs."""
    if isinstance(item, ConfigMap):
        yield from ((SHARED, name) for _, given in pairs(item.data) for name in _shares(given))
    if isinstance(item, Release) and item.values is not UNKNOWN and item.chart in _CONFIGS:
        above = _CONFIGS[item.chart][:-1]
        for key in ("map", "data"):
            texts = pairs(at(item.values, *above, key))
            yield from ((SHARED, name) for _, given in texts for name in _shares(given))
    if isinstance(item, Release):
        yield from _installed(item)
    if any(daemon.role == "nfd" for daemon in daemons(Inventory((item,)), item.cluster)):
        yield NFD
    if isinstance(item, NodeSet):
        yield from _given_to(item)
    if isinstance(item, Workload) and (run := _CONTROLLER.search(str(at(item.spec, "containers")))):
        yield KARPENTER, run[1]
        yield SERVED


def _given_to(nodes: NodeSet) -> Iterator[tuple[str, str]]:
    for label, _ in pairs(nodes.labels):
        if RESOURCE_NAMES.fullmatch(label):
            yield LABEL, label
    if nodes.provisioner != "byHand":
        yield from _put(nodes)
    of_cluster = value_of(nodes)
    if at(of_cluster, "kind") == "ClusterConfig":
        name = str(at(of_cluster, "metadata", "name"))
        yield MADE, name
        if has_gpus(nodes):
            yield NODES_OF, name


def _installed(item: Release) -> Iterator[tuple[str, str]]:
    """Karpenter in its version; of the operator a driver, and the label that it gives nodes.

    That is by what NFD finds, https://github.com/NVIDIA/gpu-operator/blob/main/controllers/state_manager.go.
    """
    if item.chart == KARPENTER:
        yield KARPENTER, str(item.version)
        yield SERVED
    if chart_of(item.chart) == OPERATOR_CHART:
        if not is_without_nfd(item):
            yield LABEL, f"label {PRESENT_LABEL}=true"
        if installs(item, "driver") is not False:
            yield DRIVER


def _shares(given: object) -> Iterator[str]:
    """The resources of which a text of a configuration gives out several shares as one each."""
    if not isinstance(given, str) or "replicas" not in given:
        return
    try:
        config = device_plugin_config(given)
    except DocumentError:
        return
    if not config.renamed:
        yield from config.replicas


def _put(item: NodeSet) -> Iterator[tuple[str, str]]:
    """Labels and taints, as what is put on a node by hand is told."""
    for label, value in pairs(item.labels):
        if value is not UNKNOWN:
            yield LABEL, f"label {label}={text(value)}"
    if item.taints is not UNKNOWN:
        yield from ((LABEL, f"taint {taint}") for taint in item.taints)


def file_of(document: object) -> Iterator[str]:
    """The normal path of the file of a document; nothing of what is of no file."""
    if isinstance(document, Document):
        yield posixpath.normpath(document.file)
