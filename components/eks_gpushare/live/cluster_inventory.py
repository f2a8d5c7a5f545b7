"""A running cluster as an inventory, which the checks judge that programs and files are judged by.

Objects go through the readers of `lint`. A pod that something made is not read for itself: what is
wrong with it stands in what makes it. What nodes advertise is left out, so that a check speaks of
what is configured; `live.checks` holds what is there against it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.defects import defect
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.daemons import role_of
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.edges.landing import NOT_ADVERTISED
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import NodeSet, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.lint.same_nodes import alike
from eks_gpushare.live.checks.machines import taint_evidence
from eks_gpushare.live.claims import unjudged
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.nodes import (
    NODEPOOL_LABEL,
    as_if_it_stayed,
    is_leaving,
    is_of_windows,
    is_unregistered,
)
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_NODE: Final = re.compile(r"\bthe Node [a-z0-9.-]*[a-z0-9]")
_MADE: Final = frozenset(("Pod", "Job", "ReplicaSet", "ResourceClaim"))
"""Kinds that are not read where a controller made them."""
_OF_NODES: Final = frozenset(
    ("Node", "NodePool", "EC2NodeClass", "NodeOverlay", "ConfigMap", "ClusterPolicy", "Config")
)
"""Kinds whose faults are of nodes; of others it is pods that go wrong."""
_NOTHING_DECLARED: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType({})
_OVER: Final = frozenset(("Succeeded", "Failed"))
_MOST_WITHIN: Final = 4
_SIGNS: Final = ("nvidia.com/", "migStrategy", "mig-configs", "sharing:")
"""What the configurations have that are read of ConfigMaps, of which a cluster has many others."""
_LINKS: Final[Mapping[str, Link]] = {
    "landing": Link.PLACEMENT,
    "daemonsets": Link.PLACEMENT,
    "configs": Link.CONFIGURATION,
    "mounts": Link.CONFIGURATION,
    "untold": Link.CONFIGURATION,
    "mig": Link.MIG,
    "mps": Link.PROGRAMS,
    "engines": Link.PROGRAMS,
    "drivers": Link.PROGRAMS,
}
"""Which link a check of the inventory is about, by its module; others are about pods."""


@dataclass(slots=True)
class ReadCluster:
    """The inventory of a cluster, and which nodes an item stands for."""

    inventory: Inventory
    judgements: list[Judgement] = field(default_factory=list)
    """What is wrong within single objects."""
    nodes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of all nodes that are like one that is in the inventory, by its name."""
    unjudged: frozenset[str] = frozenset()
    """Codes of what is not said, since what it is about was not read."""


def read(
    objects: ClusterObjects,
    most: Mapping[str, int | None],
    to_come: Iterable[Item] = (),
    last: Collection[str] = (),
) -> ReadCluster:
    """A cluster's inventory.

    Args:
        objects: What was read of it.
        most: How many nodes a pool may have, by the name of a node; None where nothing says.
        to_come: Nodes that are declared, and of which none is there that stays.
        last: Names of nodes that are about to go and are the only ones of their kind, of which
            nothing says that others come; what is meant for them is judged by them.
    """
    found: list[Item] = [*to_come]
    judgements: list[Judgement] = []
    for given in objects.all():
        if _is_of_others(given) and not (given.get("kind") == "Node" and name_of(given) in last):
            continue
        _read(_document(_as_it_was(given)), found, judgements, 0)
    kept: list[Item] = []
    nodes: dict[str, tuple[str, ...]] = {}
    for group in alike(found):
        first = group[0]
        if isinstance(first, NodeSet) and _is_node(first):
            names = tuple(str(item.name) for item in group)
            nodes[names[0]] = names
            first = replace(first, least=len(group), most=most.get(names[0]))
        kept.append(first)
    complete = not objects.unread
    return ReadCluster(Inventory(tuple(kept), complete), judgements, nodes, unjudged(objects))


def with_unseen_layouts(
    cluster: ReadCluster,
    nodes: Iterable[LiveNode],
    declared: Mapping[str, Mapping[str, int]] = _NOTHING_DECLARED,
) -> ReadCluster:
    """A cluster whose nodes, and what launches them, give out what nodes do that somebody has cut.

    Who has cut their GPUs is not among the objects, such as their boot. What would follow from the
    configuration, whole GPUs, is not so, and everything that asks for devices would be wrong.

    Args:
        cluster: The cluster.
        nodes: Its nodes with GPUs.
        declared: What a stack says that they give out, by their names, which counts where they
            give out something else: that is told of the nodes, and not of those who ask for it.
    """
    cut = [
        node
        for node in nodes
        if node.may_be_cut and node.is_ready and (node.advertised or not node.is_joining)
    ]
    if not cut:
        return cluster
    facts: dict[int, dict[str, dict[str, int]]] = {}
    for offer in offers(cluster.inventory, "").every:
        item, kind = offer.kind.nodes, offer.kind.type
        if offer.mig.by != "nobody" or kind is None or item.advertised is not None:
            continue
        names = cluster.nodes.get(str(item.name), ())
        for node in cut:
            is_its = node.name in names or node.labels.get(NODEPOOL_LABEL) == item.name
            if is_its and node.type_name == kind.name:
                facts.setdefault(id(item), {}).setdefault(
                    kind.name, dict(declared.get(node.name) or node.advertised)
                )
    kept = tuple(
        replace(item, advertised=facts[id(item)])
        if isinstance(item, NodeSet) and id(item) in facts
        else item
        for item in cluster.inventory.items
    )
    inventory = replace(cluster.inventory, items=kept)
    return replace(cluster, inventory=inventory)


def _is_of_others(given: Object) -> bool:
    """Whether it is judged with what made it, has ended, or is about to."""
    kind = given.get("kind")
    if kind == "Node":
        return is_leaving(given) or is_of_windows(given) or is_unregistered(given)
    owners = items(at(given, "metadata", "ownerReferences"))
    if kind == "NodeClaim":
        return bool(owners)  # its NodePool, which does not call itself its controller
    if kind not in _MADE:
        return False
    made = any(at(owner, "controller") is True for owner in owners)
    return made or (kind == "Pod" and at(given, "status", "phase") in _OVER)


def _as_it_was(given: Object) -> Object:
    """A node that is about to go as it was before; other objects as they are."""
    leaves = given.get("kind") == "Node" and is_leaving(given)
    return as_if_it_stayed(given) if leaves else given


def _document(given: Object) -> Document:
    name = place_of(given)
    return Document(name, given, _nowhere, editable=False, origin=_LiveOrigin(name, given))


@dataclass(frozen=True, slots=True)
class _LiveOrigin:
    """Texts within an object of a cluster, such as the configurations of a ConfigMap."""

    name: str
    value: Any

    def where(self, path: FieldPath) -> tuple[str, Position]:
        return self.name, _nowhere(path)

    def texts(self, path: FieldPath) -> Any:
        """The `Texts` at a path; None of those that are about something else, and may be large."""
        given = at(self.value, *path)
        if not isinstance(given, str) or not any(sign in given for sign in _SIGNS):
            return None
        return read_texts(given, self.name, place=lambda _: _nowhere(()))

    def first_line(self, path: FieldPath) -> None:
        """Of no text, as an object has no lines."""

    def below(self, path: FieldPath) -> _LiveOrigin:
        return _LiveOrigin(self.name, at(self.value, *path))


def place_of(given: Object) -> str:
    """An object's namespace and name."""
    space = namespace_of(given)
    return f"{space}/{name_of(given)}" if space else name_of(given)


def _nowhere(_: FieldPath) -> Position:
    """An object of a cluster has no lines."""
    return Position(1, 1)


def _read(document: Document, found: list[Item], judgements: list[Judgement], depth: int) -> None:
    reader = next((reader for reader in DOCUMENT_READERS if reader.matches(document)), None)
    if reader is None:
        return
    read_of = reader.read(document)
    found += read_of.items
    judgements += read_of.judgements
    for inner in read_of.inner if depth < _MOST_WITHIN else ():
        _read(inner, found, judgements, depth + 1)


def _is_node(item: NodeSet) -> bool:
    return bool(at(getattr(item.source.document, "value", None), "kind") == "Node")


def inventory_faults(cluster: ReadCluster, nodes: Iterable[LiveNode]) -> Iterator[ClusterFault]:
    """What the checks of inventories find in a cluster, errors and warnings."""
    by_name = {node.name: node for node in nodes}
    for judgement in cluster.judgements:
        yield from _faults(judgement, Link.CONFIGURATION, cluster, by_name)
    for edge in EDGES:
        link = _LINKS.get(edge.look.__module__.rpartition(".")[2], Link.PODS)
        try:
            judged = list(edge.look(cluster.inventory))
        except Exception as error:  # noqa: BLE001  (all others are looked for)
            yield ClusterFault(defect(error, edge.rules), Link.PODS, is_cause_only=True)
            continue
        for judgement in judged:
            yield from _faults(judgement, link, cluster, by_name)


def _faults(
    judgement: Judgement, link: Link, cluster: ReadCluster, nodes: Mapping[str, LiveNode]
) -> Iterator[ClusterFault]:
    if not isinstance(judgement, Problem):
        return
    document = judgement.source.document
    if not isinstance(document, Document) or judgement.rule.id in cluster.unjudged:
        return
    is_asleep = at(document.value, "spec", "replicas") == 0
    if is_asleep and not nodes and judgement.rule.id == NOT_ADVERTISED.id:
        return  # nothing says that an autoscaler would start no node for it
    path = (*document.at, *judgement.source.path, *judgement.path)
    finding = judgement.rule.finding(
        (*_called(document), *path),
        judgement.message,
        judgement.fix,
        judgement.severity,
    )
    if finding.severity == "info":
        return
    link = link if _is_of_nodes(document) else Link.PODS
    owner = _owner(document) if link is Link.PODS else None
    touched = _nodes(document, finding, cluster)
    # What is said of no node in particular may be of each.
    about = frozenset(touched or (nodes if owner is None else ()))
    evidence = tuple(_who_tainted(finding, nodes, about)) if link is Link.PLACEMENT else ()
    said, name = judgement.message, judgement.source.name
    gist = said.replace(f"{name[:1].upper()}{name[1:]}", "").replace(name, "")
    gist = _NODE.sub("", gist)  # what one DaemonSet does to several nodes is one fault
    is_cause = link is Link.PODS
    yield ClusterFault(finding, link, about, owner, evidence, is_cause_only=is_cause, gist=gist)


def _who_tainted(
    finding: Finding, nodes: Mapping[str, LiveNode], about: frozenset[str]
) -> Iterator[str]:
    """Where the taints stand that a finding speaks of, on one of its nodes, and who wrote them."""
    node = nodes.get(min(about, default=""))
    if node is None:
        return
    for taint in node.taints:
        if str(taint) in finding.message.split():
            yield f"node {node.name} {taint_evidence(node, taint)}"


def _called(document: Document) -> tuple[str, ...]:
    """Kind and name of the object that a document is, or is a part of."""
    kind = at(document.value, "kind")
    return (kind, document.file) if isinstance(kind, str) else (document.file,)


def _is_of_nodes(document: Document) -> bool:
    """Whether an object makes nodes what they are, and is not one of those who use them."""
    value = document.value
    kind = at(value, "kind")
    if kind == "DaemonSet":
        return role_of(at(value, "spec", "template", "spec")) is not None
    return not isinstance(kind, str) or kind in _OF_NODES


def _owner(document: Document) -> PodOwner | None:
    value, kind = document.value, at(document.value, "kind")
    return PodOwner(namespace_of(value), kind, name_of(value)) if isinstance(kind, str) else None


def _nodes(document: Document, finding: Finding, cluster: ReadCluster) -> set[str]:
    """The nodes that a finding speaks of: its own object, or those that its words name."""
    value = document.value
    if at(value, "kind") == "Node":
        return set(cluster.nodes.get(name_of(value), (name_of(value),)))
    words = {word.strip(".,:;()'\"") for word in finding.message.split()}
    return {name for first, alike_ in cluster.nodes.items() if first in words for name in alike_}


def daemon_sets(cluster: ReadCluster) -> tuple[Workload, ...]:
    """The DaemonSets of a cluster."""
    return tuple(item for item in cluster.inventory.of(Workload) if item.kind == "DaemonSet")
