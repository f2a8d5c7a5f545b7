"""Clusters of the lint corpus that are right, as they are once they run: nothing is found.

A case has what people write. Its releases of NVIDIA's device plugin are rendered by Helm, from the
chart that tests/live/test_charts.py names, its DaemonSets get their pods and its pods run, and its
nodes are as EKS, NFD and feature discovery make them.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import lint_corpus
import pytest
from tests.live.test_charts import PLUGIN, charts, pods_of, rendered
from tests.live.test_corpus_objects import objects_of
from tests.live.test_faults import objects_of as as_read
from tests.live.test_faults import worse

from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.live.kinds import LISTED
from eks_gpushare.live.placement import mismatches
from eks_gpushare.live.verdict import verdict_of
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.live.test_faults import Cluster, Object

    from eks_gpushare.inventory.advertised import Offer

MADE = "2026-11-26T17:02:07Z"
KINDS = {each.kind for each in LISTED}
PRODUCT = "nvidia.com/gpu.product"
__all__ = ("charts",)
"""The fixture that is another file's."""


class CorpusCluster(NamedTuple):
    """A cluster of a case, of which all is known that is needed to make it."""

    case: lint_corpus.Case
    nodes: Sequence[Offer]
    releases: Sequence[Release]


def corpus_clusters(is_of: Callable[[str], bool]) -> Iterator[CorpusCluster]:
    """Those whose charts are all such."""
    for each in known_clusters():
        if all(is_of(str(release.chart)) for release in each.releases):
            yield each


@cache
def known_clusters() -> Sequence[CorpusCluster]:
    return tuple(_known_clusters())


def _known_clusters() -> Iterator[CorpusCluster]:
    for case in lint_corpus.cases():
        files = [GivenFile(name, text) for name, text in case.files.items()]
        inventory = Inventory(tuple(read_files(files).items)) if case.is_right else Inventory(())
        for cluster in inventory.clusters() if len(inventory.clusters()) == 1 else ():
            nodes = offers(inventory, cluster).every
            releases = inventory.of(Release, cluster)
            if nodes and releases and all(map(is_known, nodes)):
                yield CorpusCluster(case, nodes, releases)


def is_known(offer: Offer) -> bool:
    nodes, resources = offer.kind.nodes, offer.resources
    is_lacking = resources is None or None in resources.values()
    return not is_lacking and UNKNOWN not in (nodes.labels, nodes.taints)


def node_of(name: str, offer: Offer, wanted: str | None) -> Object:
    kind = offer.kind
    labels = {key: value for key, value in kind.known_labels.items() if isinstance(value, str)}
    labels |= {
        "kubernetes.io/hostname": name,
        "feature.node.kubernetes.io/pci-10de.present": "true",
    }
    labels |= {"nvidia.com/gpu.present": "true", **({PRODUCT: wanted} if wanted else {})}
    if kind.type is not None:
        labels["node.kubernetes.io/instance-type"] = kind.type.name
        labels["nvidia.com/gpu.count"] = str(kind.type.gpu_count)
    shares = {name: str(count) for name, count in (offer.resources or {}).items()}
    amounts = {"cpu": "191", "memory": "1900Gi", "pods": "110", **shares}
    given: Any = kind.nodes.taints
    taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in given]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": MADE, "uid": name},
        "spec": {"taints": taints},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.35.8-eks-1a2b3c4"},
        },
    }


def own_objects(given: CorpusCluster) -> tuple[Cluster, Cluster]:
    """The nodes of a cluster, and what its case has in it."""
    own = [copy.deepcopy(each) for each in objects_of(given.case) if each["kind"] in KINDS]
    # What feature discovery finds is in the catalog only in part; whoever selects by it is right.
    wanted = next((at for each in own if (at := selected(each))), None)
    nodes = [node_of(f"node-{n}", offer, wanted) for n, offer in enumerate(given.nodes)]
    for each in own:
        if each["kind"] != "Namespace":
            each["metadata"].setdefault("namespace", "default")
        each["metadata"] |= {"creationTimestamp": MADE, "uid": each["metadata"]["name"]}
        if each["kind"] == "Pod":
            there = [node for node in nodes if not mismatches(each["spec"], node)]
            each["spec"]["nodeName"] = there[0]["metadata"]["name"]
            ready = {"type": "Ready", "status": "True"}
            each["status"] = {"phase": "Running", "conditions": [ready]}
    return nodes, own


def made_of(given: CorpusCluster, chart: Path) -> Cluster:
    """The cluster, once all that it has runs."""
    nodes, own = own_objects(given)
    for release in given.releases:
        values: Any = release.values
        own += rendered(chart, values, namespace_of(release, own))
    return [*nodes, *own, *pods_of(own, nodes)]


def namespace_of(release: Release, own: Cluster) -> str:
    """Where it is installed; what no command says is where its configuration is."""
    maps = (each["metadata"]["namespace"] for each in own if each["kind"] == "ConfigMap")
    named = release.namespace if isinstance(release.namespace, str) else ""
    return named or next(maps, PLUGIN)


def selected(given: Object) -> str | None:
    spec = given.get("spec") or {}
    found: str | None = (spec.get("nodeSelector") or {}).get(PRODUCT)
    return found


CLUSTERS = {each.case.name: each for each in corpus_clusters(lambda chart: chart.endswith(PLUGIN))}


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_that_is_right_is_no_finding(name: str, charts: Path) -> None:
    cluster = made_of(CLUSTERS[name], charts / PLUGIN)

    assert worse(verdict_of(as_read(cluster))) == []


def test_there_are_some() -> None:
    assert len(CLUSTERS) >= 20
