"""Groups of Cluster Autoscaler: what it waits for, and what it knows of nodes that are not there.

Source: "Special note on GPU instances" of cluster-autoscaler/cloudprovider/aws/README.md of
kubernetes/autoscaler, and `buildNodeFromTemplate` of aws_manager.go beside it, which knows the
GPUs of a type, and of any other resource what tags tell; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.edges.promises import NOT_PROMISED
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, holds
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import CLUSTER_AUTOSCALER
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.eksctl import (
    ACCELERATOR,
    NO_ACCELERATOR,
    SCALED,
    TEMPLATE_LABEL,
)
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_GROUPS: Final = ("managed", "selfManaged")


@edge(NO_ACCELERATOR)
def accelerators(inventory: Inventory) -> Iterator[Judgement]:
    """Where its chart is here; of groups with its tags the reader of eksctl says the same."""
    for cluster in inventory.clusters():
        if not _is_there(inventory, cluster):
            continue
        for nodes in inventory.of(NodeSet, cluster):
            unknown = UNKNOWN in (nodes.labels, nodes.tags, nodes.most)
            if unknown or nodes.provisioner not in _GROUPS or nodes.least == nodes.most:
                continue
            if nodes.instance_types and has_gpus(nodes) and not _is_told(nodes):
                yield Problem(
                    NO_ACCELERATOR,
                    nodes.source,
                    (),
                    f"Cluster Autoscaler scales {nodes.source.name}, whose nodes have no label "
                    f"{ACCELERATOR}.",
                    f"Give them the label {ACCELERATOR}, such as nvidia-a10g.",
                )


@edge(NOT_PROMISED)
def resources(inventory: Inventory) -> Iterator[Judgement]:
    """Of groups that may be empty and have no tag of a resource, what pods ask for."""
    for cluster in inventory.clusters():
        there = _is_there(inventory, cluster)
        asked = {each.resource for _, found in gpu_workloads(inventory, cluster) for each in found}
        said: set[int] = set()
        for offer in offers(inventory, cluster).every:
            nodes = offer.kind.nodes
            scaled = there or (nodes.tags is not UNKNOWN and SCALED in nodes.tags)
            if nodes.provisioner not in _GROUPS or nodes.promised != {} or id(nodes) in said:
                continue
            for name in asked - {GPU} if scaled and nodes.least == 0 else ():
                count = (offer.resources or {}).get(name)
                if count:
                    said.add(id(nodes))
                    yield Problem(
                        NOT_PROMISED,
                        nodes.source,
                        (),
                        f"{at_start(nodes.source.name)} may be empty, and nothing tells Cluster "
                        f"Autoscaler that its nodes have {name}: pods that ask for it bring none.",
                        "Add the tag `k8s.io/cluster-autoscaler/node-template/resources/"
                        f"{name}: {count}`.",
                        "warning",
                    )


def _is_told(nodes: NodeSet) -> bool:
    """Whether nodes have the label, or eksctl's reader says that they lack it."""
    by_eksctl = at(value_of(nodes), *nodes.source.path, "propagateASGTags") is True
    tags = {SCALED, f"{TEMPLATE_LABEL}{ACCELERATOR}"} & {
        *(() if nodes.tags is UNKNOWN else nodes.tags)
    }
    return by_eksctl or bool(tags) or holds(nodes.labels, ACCELERATOR)


def _is_there(inventory: Inventory, cluster: str) -> bool:
    return any(each.chart == CLUSTER_AUTOSCALER for each in inventory.of(Release, cluster))
