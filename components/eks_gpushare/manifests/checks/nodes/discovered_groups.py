"""Cluster Autoscaler that looks for the node groups of a cluster by another name.

EKS, eksctl and modules of Terraform tag groups with `k8s.io/cluster-autoscaler/CLUSTER`; the chart
looks for the tag with `autoDiscovery.clusterName`: charts/cluster-autoscaler/values.yaml of
https://github.com/kubernetes/autoscaler, November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import NodeSet, Release, Workload
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import CLUSTER_AUTOSCALER
from eks_gpushare.manifests.checks.nodes.joined_clusters import declared_cluster
from eks_gpushare.manifests.rules.scaling import OTHER_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

_NAME: Final = ("autoDiscovery", "clusterName")
_TAG: Final = re.compile(r"k8s\.io/cluster-autoscaler/(?!enabled\b|node-template)([A-Za-z0-9_-]+)$")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@edge(OTHER_CLUSTER)
def discovered(inventory: Inventory) -> Iterator[Judgement]:
    """Beside the groups of one cluster, of which some have GPUs, and no other nodes."""
    for cluster in inventory.clusters():
        sets = inventory.of(NodeSet, cluster)
        names = {_cluster_of(nodes) for nodes in sets}
        there = next(iter(names), None)
        if len(names) != 1 or not isinstance(there, str) or not any(map(has_gpus, sets)):
            continue
        for item, place, name in _looked_for(inventory, cluster):
            if name != there and not is_guide(item.source.file):
                yield Problem(
                    OTHER_CLUSTER,
                    item.source,
                    place,
                    f"{at_start(item.source.name)} looks for the groups of the cluster {name}, and "
                    f"those that are here are of {there}.",
                    f"Write {there}.",
                )


def _cluster_of(nodes: NodeSet) -> Any:
    """The name that the group is found by; None of nodes of others, and where it is not plain."""
    name = declared_cluster(nodes)
    if not name and nodes.provisioner == "selfManaged" and nodes.tags is not UNKNOWN:
        found = {match[1] for key in nodes.tags if (match := _TAG.fullmatch(key))}
        name = found.pop() if len(found) == 1 else None
    is_plain = isinstance(name, str) and not has_unknown(name) and _PLAIN.fullmatch(name)
    return name if is_plain else None


def _looked_for(inventory: Inventory, cluster: str) -> Iterator[tuple[Item, FieldPath, str]]:
    for release in inventory.of(Release, cluster):
        name = at(release.values, *_NAME)
        if release.chart != CLUSTER_AUTOSCALER or has_unknown(name) or not isinstance(name, str):
            continue
        if _PLAIN.fullmatch(name):
            yield release, value_place(release, _NAME), name
    for workload in inventory.of(Workload, cluster):
        for where, container in containers(workload.spec):
            for part in ("command", "args"):
                for index, word in enumerate(items(at(container, part))):
                    found = None if word is UNKNOWN else _TAG.search(str(word))
                    if found and str(word).startswith("--node-group-auto-discovery=asg:tag="):
                        yield workload, (*workload.spec_path, *where, part, index), found[1]
