"""What items of one file name that stands in another: a release its ConfigMap, a pool its class."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.configs import MAP_UNUSED
from eks_gpushare.inventory.edges.daemonsets import UNLABELLED
from eks_gpushare.inventory.edges.drivers import NOWHERE, brings_driver, installs
from eks_gpushare.inventory.edges.mps import NO_DAEMON
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Pointer, Release, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.lint.changed_pods import changes_in
from eks_gpushare.lint.environments import environments
from eks_gpushare.lint.node_classes import class_named, class_of
from eks_gpushare.lint.one_cluster import examples_apart, is_one_cluster, once_of
from eks_gpushare.lint.rules.shell import BY_HAND
from eks_gpushare.lint.scopes import as_environments, as_one_cluster
from eks_gpushare.manifests.charts import DEVICE_PLUGIN, OPERATOR
from eks_gpushare.manifests.checks.charts.discovery import is_without_nfd
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.kustomize import NAMES
from eks_gpushare.manifests.rules.eksctl import NO_DRIVER
from eks_gpushare.manifests.rules.gpu_names import RESOURCE_AS_LABEL, RESOURCE_NAMES
from eks_gpushare.manifests.rules.gpu_programs import SPLIT
from eks_gpushare.manifests.rules.karpenter_versions import REMOVED_VERSION
from eks_gpushare.manifests.rules.scaling import NO_SPARE_GPU
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.changed_pods import PolicyChange
    from eks_gpushare.lint.scopes import FileScope

_SHARED = "shared"
"""Kind of what a configuration of the device plugin shares under its own name."""
_LABEL = "label"
"""Kind of what nodes are given: labels that have the name of a resource, and labels and taints."""
_NFD: Final = ("discovery", "nfd")
"""What a release of the operator without node feature discovery needs of others."""
_CLUSTER: Final = "cluster"
"""Kind of where applications of Argo CD go."""
_WHERE_ARGO_IS: Final = ("in-cluster", "https://kubernetes.default.svc")
"""Of a hub, this is where the applications themselves are, and their pods elsewhere."""
_DRIVER: Final = ("driver", "operator")
"""What nodes whose image has no driver need."""
_TELLS: Final = re.compile(r"#.*\bclusterpolic(?:y|ies)\b", re.IGNORECASE)
"""A comment with the operator's own object, which one may change by hand."""
_CAPABLE: Final = "nvidia.com/mps.capable=true"
"""The label by which the chart's MPS daemon goes."""
_KARPENTER: Final = "karpenter"
"""The chart of Karpenter, by its release: an earlier one serves what the newest does not."""
_SERVED: Final = ("served", "karpenter")
"""What an object of Karpenter's needs of others."""
_RELEASE: Final = re.compile(r"v?([0-9]+)\.([0-9]+)\b")
_ANYWHERE: Final = (_LABEL, _SHARED, _NFD[0], _DRIVER[0], _SERVED[0])
"""Kinds of what is told of files by others that they do not name."""
_CONFIGS = {DEVICE_PLUGIN: ("config", "name"), OPERATOR: ("devicePlugin", "config", "name")}


class Naming(NamedTuple):
    """What files have a name for, and what they name."""

    having: Mapping[tuple[str, str], frozenset[str]]
    """Normal paths of the files that have something, by its kind and name."""
    named: Mapping[tuple[str, str], frozenset[str]]
    """Normal paths of the files that name it."""
    once: Mapping[tuple[str, str], frozenset[str]]
    """Normal paths of the files that have what a cluster has once."""
    objects: frozenset[str] = frozenset()
    """Normal paths of all files that have something of a cluster, but for guides."""
    changes: tuple[PolicyChange, ...] = ()
    """What policies change of pods, wherever these lie; not of those that a guide shows."""

    @property
    def is_one_cluster(self) -> bool:
        """Whether the files' folders are laid out as the parts of one cluster."""
        return not self._names_clusters and is_one_cluster(self.once)

    @property
    def environments(self) -> frozenset[str]:
        """Folders of several environments, each laid out as the parts of one cluster."""
        return frozenset() if self._names_clusters else environments(self.once)

    def laid_out(self, scopes: tuple[FileScope, ...]) -> tuple[FileScope, ...]:
        """Scopes by what joins files, with those as one whose folders are of one cluster."""
        apart = examples_apart(self.once)
        if self.is_one_cluster:
            return as_one_cluster(scopes, apart)
        folders = self.environments
        return as_environments(scopes, folders, apart) if folders else scopes

    @property
    def is_laid_out(self) -> bool:
        """Whether folders belong together by their layout alone."""
        return self.is_one_cluster or bool(self.environments)

    @property
    def _names_clusters(self) -> bool:
        return sum(kind == _CLUSTER for kind, _ in self.named) > 1

    def references(self) -> dict[str, list[str]]:
        """The files that a file names something of, where only one has it, by its normal path."""
        found: dict[str, list[str]] = {}
        for key, files in self.named.items():
            if key[0] in _ANYWHERE:
                continue
            others = self.having.get(key, frozenset())
            for file in sorted(files - others):
                if len(others) == 1:
                    found.setdefault(file, []).extend(others)
        return found

    def gives_labels_to(self, part: Naming) -> bool:
        """Whether nodes of other files have labels that a part selects, or shares that it asks for.

        So is what else files have wherever they lie. Of what its own have, no others tell more.
        """
        told = [key for key in part.named if key[0] in _ANYWHERE]
        return any(key in self.having and key not in part.having for key in told)

    def with_other_scopes(self, judgement: Judgement) -> Judgement:
        """A finding as a note, where files of another scope give nodes what it says they lack.

        So is what is said of a number of GPUs, where some of a configuration are shares of one.

        Args:
            judgement: What was found within a document or a scope.
        """
        if not isinstance(judgement, Problem):
            return judgement
        if judgement.rule is MAP_UNUSED:
            # A script may tell the operator of it, wherever it lies.
            is_named = ("map", judgement.source.name.rpartition(" ")[2]) in self.named
            return replace(judgement, severity="info") if is_named else judgement
        given: set[object] = {name for kind, name in self.having if kind == _LABEL}
        if judgement.rule is SPLIT or (
            judgement.rule is NO_SPARE_GPU and "ResourceQuota" not in judgement.message
        ):
            # A configuration may be for nodes that these pods do not get: neither is certain.
            shared = (_SHARED, GPU) in self.having
            return replace(judgement, severity="info") if shared else judgement
        if judgement.rule is UNLABELLED and _NFD in self.having:
            lacks = posixpath.normpath(judgement.source.file) in self.named.get(_NFD, ())
            return replace(judgement, severity="info") if lacks else judgement
        if judgement.rule is RESOURCE_AS_LABEL:
            named: set[object] = set(RESOURCE_NAMES.findall(judgement.message))
        elif judgement.rule is BY_HAND:
            named = {
                name for name in given if judgement.message.startswith(f"The {name} is put on")
            }
        elif judgement.rule in (NO_DRIVER, NOWHERE) and judgement.severity:
            # The operator, wherever it is installed, brings one.
            named, given = {_DRIVER}, set(self.having)
        elif judgement.rule is REMOVED_VERSION:
            named, given = {True}, {self._serves_karpenter(judgement.message)}
        elif judgement.rule is NO_DAEMON and _CAPABLE in judgement.message:
            named = {f"label {_CAPABLE}"}  # of nodes of another scope
        else:
            return judgement
        return replace(judgement, severity="info") if named & given else judgement

    def _serves_karpenter(self, message: str) -> bool:
        """Whether each Karpenter that the files install is of before what a message says."""
        went = _RELEASE.findall(message)
        found = [_RELEASE.match(name) for kind, name in self.having if kind == _KARPENTER]
        return bool(found and went) and all(
            each is not None and _order(each.groups()) < _order(went[-1]) for each in found
        )


def _order(release: Iterable[str]) -> list[int]:
    return [int(part) for part in release]


def as_applied(
    judgement: Judgement, texts: Mapping[str, str], built: Iterable[frozenset[str]]
) -> Judgement:
    """A configuration that nothing names as a note, where that may be meant.

    It may lie beside a kustomization that leaves it out, say how the operator is told of it, or
    be named by a line that is put out by a comment.

    Args:
        judgement: What was found.
        texts: Texts of the files by name.
        built: The files of each kustomization.
    """
    document = judgement.source.document
    if not isinstance(judgement, Problem) or judgement.rule is not MAP_UNUSED:
        return judgement
    if not isinstance(document, Document):
        return judgement
    file = posixpath.normpath(document.file)
    beside = {posixpath.join(posixpath.dirname(file), name) for name in NAMES}
    left_out = beside & {posixpath.normpath(name) for name in texts} and not any(
        file in files for files in built
    )
    tells = _TELLS.search(texts.get(document.file, ""))
    off = re.compile(rf"#.*\bname: *[\"']?{re.escape(judgement.source.name.split()[-1])}\b")
    put_out = any(off.search(text) for text in texts.values())
    return replace(judgement, severity="info") if left_out or tells or put_out else judgement


def naming(items: Iterable[Item], classes: Iterable[Document]) -> Naming:
    """What some files have and name.

    Args:
        items: Items of the files.
        classes: Documents that are node classes.
    """
    items = list(items)
    having: dict[tuple[str, str], set[str]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if isinstance(item, ConfigMap) and isinstance(item.name, str):
            having.setdefault(("map", item.name), set()).update(_file(item.source.document))
        for key in _names(item):
            named.setdefault(key, set()).update(_file(item.source.document))
        for key in _given(item):
            having.setdefault(key, set()).update(_file(item.source.document))
    for document in classes:
        if (found := class_of(document)) is not None:
            having.setdefault(("class", found[0]), set()).update(_file(document))
    once: dict[tuple[str, str], set[str]] = {}
    for key, file in once_of(items):
        once.setdefault(key, set()).add(file)
    own = [item for item in items if not is_guide(item.source.file)]
    files = frozenset(file for item in own for file in _file(item.source.document))
    return Naming(_frozen(having), _frozen(named), _frozen(once), files, tuple(changes_in(own)))


def _frozen(found: Mapping[tuple[str, str], set[str]]) -> dict[tuple[str, str], frozenset[str]]:
    return {key: frozenset(files) for key, files in found.items()}


def all_of(namings: Iterable[Naming]) -> Naming:
    """What files of several parts have and name together."""
    having: dict[tuple[str, str], set[str]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    once: dict[tuple[str, str], set[str]] = {}
    objects: set[str] = set()
    changes: list[PolicyChange] = []
    for each in namings:
        objects |= each.objects
        changes += each.changes
        for whole, part in ((having, each.having), (named, each.named), (once, each.once)):
            for key, files in part.items():
                whole.setdefault(key, set()).update(files)
    files = frozenset(objects)
    return Naming(_frozen(having), _frozen(named), _frozen(once), files, tuple(changes))


def _names(item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item, Release) and item.values is not UNKNOWN and item.chart in _CONFIGS:
        name = at(item.values, *_CONFIGS[item.chart])
        if isinstance(name, str):
            yield "map", name
        if item.chart == DEVICE_PLUGIN and "mps:" in str(at(item.values, "config")):
            yield _LABEL, f"label {_CAPABLE}"
    if is_without_nfd(item):
        yield _NFD
    if isinstance(item, Pointer) and item.kind == "Application":
        yield from _clusters(item)
    if isinstance(item, Workload):
        yield from _selected(item)
    if isinstance(item, NodeSet):
        if item.provisioner == "byHand":
            yield from _put(item)
        elif item.provisioner == "karpenter" and (name := class_named(item)) is not None:
            yield "class", name
        yield from (_SERVED,) if item.provisioner == "karpenter" else ()
        yield from (_DRIVER,) if brings_driver(item) is False else ()


def _clusters(item: Pointer) -> Iterator[tuple[str, str]]:
    """The cluster that an application goes to, if it is another than Argo CD's own."""
    told = at(item.spec, "destination")
    where = at(told, "name") or at(told, "server")
    if isinstance(where, str) and where not in _WHERE_ARGO_IS:
        yield _CLUSTER, where


def _selected(item: Workload) -> Iterator[tuple[str, str]]:
    if GPU in str(at(item.spec, "containers")):
        yield _SHARED, GPU
    for part in ("nodeSelector", "affinity"):
        for label in RESOURCE_NAMES.findall(str(at(item.spec, part))):
            yield _LABEL, label


def _given(item: Item) -> Iterator[tuple[str, str]]:
    """What nodes are given: shares, labels with a resource's name, and by pools all of theirs."""
    if isinstance(item, ConfigMap):
        yield from ((_SHARED, name) for _, given in pairs(item.data) for name in _shares(given))
    if isinstance(item, Release) and item.values is not UNKNOWN and item.chart in _CONFIGS:
        above = _CONFIGS[item.chart][:-1]
        for key in ("map", "data"):
            texts = pairs(at(item.values, *above, key))
            yield from ((_SHARED, name) for _, given in texts for name in _shares(given))
    if isinstance(item, Release):
        yield from _installed(item)
    if any(daemon.role == "nfd" for daemon in daemons(Inventory((item,)), item.cluster)):
        yield _NFD
    if not isinstance(item, NodeSet):
        return
    for label, _ in pairs(item.labels):
        if RESOURCE_NAMES.fullmatch(label):
            yield _LABEL, label
    if item.provisioner != "byHand":
        yield from _put(item)


def _installed(item: Release) -> Iterator[tuple[str, str]]:
    """Karpenter in its version, and a driver."""
    if item.chart == _KARPENTER:
        yield _KARPENTER, str(item.version)
        yield _SERVED
    if chart_of(item.chart) == OPERATOR_CHART and installs(item, "driver") is not False:
        yield _DRIVER


def _shares(given: object) -> Iterator[str]:
    """The resources of which a text of a configuration gives out several shares as one each."""
    if not isinstance(given, str) or "replicas" not in given:
        return
    try:
        config = device_plugin_config(given)
    except DocumentError:
        return
    if not config.renamed:
        yield from (name for name, count in config.replicas.items() if count > 1)


def _put(item: NodeSet) -> Iterator[tuple[str, str]]:
    """Labels and taints, as what is put on a node by hand is told."""
    for label, value in pairs(item.labels):
        if value is not UNKNOWN:
            yield _LABEL, f"label {label}={text(value)}"
    if item.taints is not UNKNOWN:
        yield from ((_LABEL, f"taint {taint}") for taint in item.taints)


def _file(document: object) -> Iterator[str]:
    if isinstance(document, Document):
        yield posixpath.normpath(document.file)
