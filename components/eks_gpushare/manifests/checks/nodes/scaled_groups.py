"""Groups of Cluster Autoscaler: what it waits for, and what it knows of nodes that are not there.

Source: "Special note on GPU instances" of cluster-autoscaler/cloudprovider/aws/README.md of
kubernetes/autoscaler, and `buildNodeFromTemplate` of aws_manager.go beside it, which knows the
GPUs of a type, and of any other resource what tags tell; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.autoscaler_tags import (
    ACCELERATOR_LABEL,
    ENABLED_TAG,
    LABEL_TAGS,
    RESOURCE_TAGS,
)
from eks_gpushare.inventory.advertised import is_gpu_resource, offers
from eks_gpushare.inventory.edges.promises import NOT_PROMISED
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, holds, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import CLUSTER_AUTOSCALER
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.eksctl import NO_ACCELERATOR
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_GROUPS: Final = ("managed", "selfManaged")
_TEMPLATE: Final = f"{LABEL_TAGS}{ACCELERATOR_LABEL}"


@edge(NO_ACCELERATOR)
def accelerators(inventory: Inventory) -> Iterator[Judgement]:
    """Where its chart is here, or a group has its tag."""
    for cluster in inventory.clusters():
        there = _is_there(inventory, cluster)
        every = offers(inventory, cluster).by_nodes()
        for nodes in inventory.of(NodeSet, cluster):
            if nodes.labels is UNKNOWN or nodes.tags is UNKNOWN or nodes.provisioner not in _GROUPS:
                continue
            of_one_size = nodes.most == 1 or (
                nodes.least == nodes.most and nodes.least not in (None, UNKNOWN)
            )
            tagged = ENABLED_TAG in nodes.tags and not of_one_size
            scaled = tagged or _changes(nodes, there=there)
            if scaled and nodes.instance_types and has_gpus(nodes):
                names = _names(nodes, every.get(id(nodes), ()))
                yield from _accelerator(nodes, names, tagged=_TEMPLATE in nodes.tags)


def _accelerator(nodes: NodeSet, names: Collection[str], *, tagged: bool) -> Iterator[Problem]:
    """Whether nodes with resources of these names, none where that is not known, want the label."""
    severity: Severity | None = None
    is_told = holds(nodes.labels, ACCELERATOR_LABEL)
    waits_in_vain = bool(names) and GPU not in names
    if waits_in_vain and is_told:
        message = (
            f"The label {ACCELERATOR_LABEL} has Cluster Autoscaler wait for {GPU} on "
            f"{nodes.source.name}, whose nodes have {', '.join(sorted(names))} only: it counts "
            "them as not started, for ever."
        )
        fix = f"Take the label away, or let shares be called {GPU}."
        severity = "info"  # it hurts where most nodes of a cluster are such, and not before
    elif not (waits_in_vain or is_told or tagged):
        message = (
            f"Cluster Autoscaler scales {nodes.source.name}, whose nodes have no label "
            f"{ACCELERATOR_LABEL}."
        )
        fix = f"Give them the label {ACCELERATOR_LABEL}, such as nvidia-a10g."
    else:
        return
    has_labels = at(value_of(nodes), *nodes.source.path, "labels")
    place = ("labels",) if has_labels else ()
    yield Problem(NO_ACCELERATOR, nodes.source, place, message, fix, severity)


def _names(nodes: NodeSet, every: Sequence[Offer]) -> frozenset[str]:
    """Extended resources of which it is known that nodes have them, or that tags tell of."""
    if every and all(each.resources for each in every):
        return frozenset(name for each in every for name in each.resources or ())
    promised = {} if nodes.promised is UNKNOWN else nodes.promised
    return frozenset(
        name for name, count in promised.items() if is_gpu_resource(name) and text(count) != "0"
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
            scaled = there or (nodes.tags is not UNKNOWN and ENABLED_TAG in nodes.tags)
            if nodes.provisioner not in _GROUPS or _promises_gpus(nodes) or id(nodes) in said:
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
                        f"Add the tag `{RESOURCE_TAGS}{name}: {count}`.",
                        "warning",
                    )


def _promises_gpus(nodes: NodeSet) -> bool:
    """Whether tags may tell of any; what they say of the disk is no matter here."""
    return nodes.promised is UNKNOWN or any(map(is_gpu_resource, nodes.promised))


def _changes(nodes: NodeSet, *, there: bool) -> bool:
    """Whether an autoscaler that is there, or that eksctl is told of, makes more or fewer."""
    if UNKNOWN in (nodes.least, nodes.most) or nodes.most in (nodes.least, 1):
        return False  # of one node there is none too many
    return there or at(value_of(nodes), *nodes.source.path, "propagateASGTags") is True


def _is_there(inventory: Inventory, cluster: str) -> bool:
    return any(each.chart == CLUSTER_AUTOSCALER for each in inventory.of(Release, cluster))
