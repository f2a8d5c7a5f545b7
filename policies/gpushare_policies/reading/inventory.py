"""The resources of a program as an inventory, which the checks of inventories judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.booted import booted
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release, Workload
from eks_gpushare.inventory.launches import pods_of_class
from eks_gpushare.inventory.node_agent import agents
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import PartlyKnown, at, partly_known
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.manifests.readers.in_clusters import CLUSTER_READERS
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader
from eks_gpushare.manifests.readers.pod_parts import PodPartsReader
from eks_gpushare.manifests.rules.zones import zones_elsewhere
from eks_gpushare.manifests.texts import read_texts
from gpushare_policies.reading.charts import CHART_TOKENS, EMBEDDED, charts_of
from gpushare_policies.reading.clusters import clusters_of, kubernetes_namespace, makes_cluster
from gpushare_policies.reading.delivered import installs_here, values_of_pods
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.nodes import nodes_of
from gpushare_policies.reading.objects import (
    LIMIT_RANGE,
    Kind,
    KubernetesObject,
    carried_by,
    is_theirs,
    objects_of_stack,
)
from gpushare_policies.reading.of_stack import of_stack
from gpushare_policies.reading.plain import at_top, items, mappings, text
from gpushare_policies.reading.regions import only_region_of
from gpushare_policies.reading.variables import devices_named
from gpushare_policies.tokens import ADDON, AWS_CLUSTER
from gpushare_policies.words import name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pulumi_policy import PolicyResource

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from gpushare_policies.reading.charts import InstalledChart

_CONFIGURATIONS = (DevicePluginConfigReader(), MigPartedReader())
"""Readers of what texts hold; objects in texts are none of the cluster."""
_PARTS = PodPartsReader()
_CHART = Kind("helm.sh", "Release")
_NOWHERE = Position(1, 1)
_MARKS = (
    *("sharing", "flags", "slicing", "replicas", "migstrategy"),
    *("mig-config", "mig_config", "migconfig"),
)
"""What configurations of the device plugin and of mig-parted hold, in any case; most texts are
others."""


@dataclass(slots=True)
class ProgramInventory:
    """What the resources of a program say together."""

    inventory: Inventory
    within: tuple[Judgement, ...]
    """What is wrong within single objects."""
    _between: list[Judgement] = field(default_factory=list)
    _judged: bool = False

    def judgements(self) -> Sequence[Judgement]:
        """What is wrong within objects and between them, and what could not be seen."""
        if not self._judged:
            for edge in (*EDGES, *CHECKS):
                self._between += edge.look(self.inventory)
            self._judged = True
        return (*self.within, *self._between)


@of_stack
def program_of(resources: Sequence[PolicyResource]) -> ProgramInventory:
    """What the resources of a program say of GPU sharing."""
    return _Reader(resources).read()


def _with_versions(found: Iterable[Item], resources: Sequence[PolicyResource]) -> Iterator[Item]:
    """Nodes with their cluster's version of Kubernetes, unless they say one of their own."""
    versions = {
        resource.urn: text(at_top(resource.props, "version"))
        for resource in resources
        if resource.resource_type == AWS_CLUSTER
    }
    if len(versions) == 1:  # whose nodes need not name it
        versions[""] = next(iter(versions.values()))
    for item in found:
        if isinstance(item, NodeSet) and item.kubernetes == "" and item.cluster in versions:
            yield replace(item, kubernetes=versions[item.cluster])
        else:
            yield item


def urn_of(source: Source) -> str:
    """The resource in which something was read."""
    found = source.document
    return str(found.file if isinstance(found, Document) else getattr(found, "urn", ""))


@dataclass
class _Reader:
    resources: Sequence[PolicyResource]
    found: list[Item] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    classes: dict[tuple[str, Any], Mapping[str, Any]] = field(default_factory=dict)
    """Node classes by cluster and name."""
    class_of: dict[int, Any] = field(default_factory=dict)
    """Number of an item that is nodes of Karpenter to the name of its class."""

    def read(self) -> ProgramInventory:
        charts = {
            resource.urn: tuple(charts_of(resource.props))
            for resource in self.resources
            if resource.resource_type in CHART_TOKENS
        }
        telling = [urn for urn, found in charts.items() if any(c.of_gpus for c in found)]
        clusters = clusters_of(self.resources, telling)
        self.found += nodes_of(self.resources, clusters)
        objects = {id(resource): found for resource, found in objects_of_stack(self.resources)}
        for resource in self.resources:
            if not resource.resource_type.startswith("kubernetes:"):
                continue
            cluster = clusters.get(resource.urn, "")
            self.found += _parts(resource, cluster)
            if resource.resource_type in CHART_TOKENS:
                self.found += self._releases(resource, charts[resource.urn], cluster)
                self._embedded(resource, charts[resource.urn])
                for chart in charts[resource.urn]:
                    made = KubernetesObject(_CHART, "v3", {"values": chart.values})
                    self._limits(resource, made, cluster)
                continue
            for found in objects.get(id(resource), ()):
                self._object(resource, found, cluster)
        self.judgements += devices_named(self.resources)
        if region := only_region_of(self.resources):
            self.judgements += zones_elsewhere(self.found, region)
        for number, (cluster, name) in self.class_of.items():
            self._with_class(number, cluster, name)
        self.found += _agents(self.resources, {nodes.cluster for nodes in self.found})
        self.found[:] = _with_versions(self.found, self.resources)
        # Into a cluster that was there before, others may have put what is not here.
        complete = any(map(makes_cluster, self.resources))
        return ProgramInventory(
            Inventory(tuple(booted(self.found)), complete), tuple(self.judgements)
        )

    def _releases(
        self, resource: PolicyResource, charts: Sequence[InstalledChart], cluster: str
    ) -> Iterator[Release]:
        kind = resource.resource_type.rpartition(":")[2]
        source = Source(f"the {kind} {name_of(resource.urn)}", resource)
        given = at_top(resource.props, "namespace")
        for chart in charts:
            yield Release(
                source=source,
                name=text(at_top(resource.props, "name"), resource.name),
                chart=chart.name,
                version=chart.version,
                namespace=kubernetes_namespace(resource) if given is None else given,
                values=chart.values,
                paths={(): chart.path},
                cluster=cluster,
            )

    def _embedded(self, resource: PolicyResource, charts: Sequence[InstalledChart]) -> None:
        """Configurations in values, of which the chart makes a ConfigMap."""
        for chart in charts:
            for path in EMBEDDED:
                texts = at(chart.values, *path)
                if isinstance(texts, Mapping):
                    self._texts(resource.urn, texts)

    def _object(self, resource: PolicyResource, found: KubernetesObject, cluster: str) -> None:
        document = _document(resource, found)
        if found.kind == NODE_CLASS:
            self.classes[cluster, found.name] = found.body
        self._read(document, cluster)
        if is_theirs(found.kind):
            self._limits(resource, found, cluster)

    def _limits(self, resource: PolicyResource, found: KubernetesObject, cluster: str) -> None:
        """LimitRanges that others make; what else they make is in namespaces not known."""
        for carried in carried_by(found):
            if carried.kind == LIMIT_RANGE:
                self._read(_document(resource, carried), cluster)

    def _read(self, document: Document, cluster: str) -> None:
        reader = next((reader for reader in CLUSTER_READERS if reader.matches(document)), None)
        if reader is None:
            return
        read = reader.read(document)
        for item in read.items:
            if isinstance(item, NodeSet) and isinstance(document.value, PartlyKnown):
                continue  # a patch makes no nodes of its own
            if isinstance(item, NodeSet) and item.provisioner == "karpenter":
                reference = at(document.value, "spec", "template", "spec", "nodeClassRef", "name")
                self.class_of[len(self.found)] = (cluster, reference)
            self.found.append(replace(item, cluster=cluster))
            if isinstance(item, ConfigMap) and item.data is not UNKNOWN:
                self._texts(document.file, item.data)
        self.judgements += read.judgements
        for inner in read.inner:
            self._read(inner, cluster)

    def _texts(self, urn: str, texts: Mapping[str, Any]) -> None:
        """Configurations in texts; those who read them read the first document."""
        for each in texts.values():
            if not isinstance(each, str) or not any(mark in each.lower() for mark in _MARKS):
                continue
            for document in read_texts(each, urn).documents[:1]:
                for reader in _CONFIGURATIONS:
                    if reader.matches(document):
                        read = reader.read(document)
                        self.found += read.items
                        self.judgements += read.judgements

    def _with_class(self, number: int, cluster: str, name: Any) -> None:
        """Nodes of Karpenter run the image of their class."""
        nodes, body = self.found[number], self.classes.get((cluster, name))
        if body is None or not isinstance(nodes, NodeSet):
            return
        spec = at(body, "spec")
        user_data, most = text(at(spec, "userData")), pods_of_class(spec)
        self.found[number] = replace(nodes, ami=_image_of(body), user_data=user_data, max_pods=most)


def _agents(resources: Sequence[PolicyResource], clusters: Collection[str]) -> Iterator[Release]:
    """EKS's node monitoring agent, which says by name of which cluster it is, as nothing else does.

    So it is told only where there is but one cluster.
    """
    for resource in resources:
        if resource.resource_type == ADDON and len(clusters) == 1:
            name, told = (at_top(resource.props, k) for k in ("addonName", "configurationValues"))
            source = Source(f"the add-on {name_of(resource.urn)}", resource)
            yield from agents(source, name, told, next(iter(clusters)))


def _parts(resource: PolicyResource, cluster: str) -> Iterator[Workload]:
    """What values of charts that are not for nodes say of their pods."""
    for values in values_of_pods(resource) if installs_here(resource) else ():
        document = _document_of(resource.urn, values, ())
        for part in _PARTS.read(document).items if _PARTS.matches(document) else ():
            if isinstance(part, Workload) and not _is_off(values, part.spec_path):
                called = f"{part.source.name} in values of {name_of(resource.urn)}"
                source = replace(part.source, name=called)
                yield replace(part, source=source, cluster=cluster)


def _is_off(values: Any, path: FieldPath) -> bool:
    """Whether values switch off what stands at a path, or a part that it is in."""
    above = [at(values, *path[:depth]) for depth in range(len(path) + 1)]
    return any(at(each, "enabled") in (False, UNKNOWN) for each in above)


def _image_of(node_class: Mapping[str, Any]) -> Any:
    """AMI alias or family of a node class, or the ID of an image."""
    terms = at(node_class, "spec", "amiSelectorTerms")
    if terms is UNKNOWN or UNKNOWN in items(terms):
        return UNKNOWN
    for _, term in mappings(terms):
        for key in ("alias", "id"):
            if term.get(key) is not None and (key == "alias" or not _family(node_class)):
                return text(term[key])
    return _family(node_class)


def _family(node_class: Mapping[str, Any]) -> Any:
    return text(at(node_class, "spec", "amiFamily"))


def config_map_of(found: KubernetesObject) -> Item | None:
    """A ConfigMap, with its binary part as text."""
    value = {**found.body, "apiVersion": "v1", "kind": "ConfigMap"}
    document = _document_of("", value, ())
    return next(iter(KubernetesReader().read(document).items), None)


def _document(resource: PolicyResource, found: KubernetesObject) -> Document:
    """An object with what a program leaves out: what it is, and where it goes."""
    kind, metadata = found.kind, at(found.body, "metadata")
    group = f"{kind.group}/{found.version}" if kind.group else found.version
    value: dict[str, Any] = {**found.body, "apiVersion": group, "kind": kind.kind}
    if metadata is not UNKNOWN:
        whole = dict(metadata) if isinstance(metadata, Mapping) else {}
        whole["name"] = found.name
        if whole.get("namespace") is None:
            whole["namespace"] = kubernetes_namespace(resource)
        value["metadata"] = whole
    if found.patch and is_theirs(kind):  # the rest is in the cluster
        value = partly_known(value)
    return _document_of(resource.urn, value, found.path)


def _document_of(urn: str, value: Any, path: FieldPath) -> Document:
    return Document(file=urn, value=value, position=lambda _: _NOWHERE, editable=False, at=path)
