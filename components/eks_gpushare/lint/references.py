"""What items of one file name that stands in another: a release its ConfigMap, a pool its class."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.edges.configs import LABEL_UNREAD, MAP_UNUSED
from eks_gpushare.inventory.edges.daemonsets import UNLABELLED
from eks_gpushare.inventory.edges.drivers import NOWHERE
from eks_gpushare.inventory.edges.landing import ELSEWHERE, PODS_KEPT_OUT
from eks_gpushare.inventory.edges.mps import NO_DAEMON
from eks_gpushare.inventory.items import ConfigMap
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.changed_pods import changes_in
from eks_gpushare.lint.layouts import Layouts, layouts
from eks_gpushare.lint.nearby import Nearby
from eks_gpushare.lint.node_classes import class_of
from eks_gpushare.lint.one_cluster import once_of
from eks_gpushare.lint.rules.shell import BY_HAND
from eks_gpushare.lint.told_names import (
    CAPABLE,
    CLUSTER,
    DRIVER,
    KARPENTER,
    LABEL,
    MADE,
    NFD,
    NODES_OF,
    SERVED,
    SHARED,
    SOME_CLUSTERS,
    file_of,
    given_by,
    names_of,
)
from eks_gpushare.lint.told_texts import (
    BY_DEFAULT,
    OLD_OPENSHIFT,
    OLD_WORKLOADS,
    RUNTIME,
    given_in,
    named_in,
)
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.folders import folders_above, in_common, is_below, nearest
from eks_gpushare.manifests.kustomize_files import NAMES
from eks_gpushare.manifests.rules.against import TOO_LARGE_POD
from eks_gpushare.manifests.rules.eksctl import NO_DRIVER
from eks_gpushare.manifests.rules.gpu_names import RESOURCE_AS_LABEL, RESOURCE_NAMES
from eks_gpushare.manifests.rules.gpu_programs import SPLIT
from eks_gpushare.manifests.rules.karpenter_versions import REMOVED_VERSION
from eks_gpushare.manifests.rules.kubernetes import DEVICES_BY_HAND, OLD_API
from eks_gpushare.manifests.rules.room_of_pools import NO_TYPE_HAS_IT
from eks_gpushare.manifests.rules.scaling import NO_SPARE_GPU
from eks_gpushare.manifests.rules.starting import OTHER_RUNTIME
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.changed_pods import PolicyChange
    from eks_gpushare.lint.file_in_reading import FileInReading

_TELLS: Final = re.compile(r"#.*\bclusterpolic(?:y|ies)\b", re.IGNORECASE)
"""A comment with the operator's own object, which one may change by hand."""
_CHANGES: Final = re.compile(
    r"#.*\b(?:patch|edit)\b.*\bclusterpolic(?:y|ies)\b"
    r"|#.*\bclusterpolic(?:y|ies)\b.*\bdevicePlugin\b",
    re.IGNORECASE,
)
"""One with the command that does so."""
_LACKING: Final = (
    *(RESOURCE_AS_LABEL, BY_HAND, NO_DRIVER, NOWHERE, REMOVED_VERSION, NO_DAEMON, OLD_API),
)
"""What is said of nodes or objects that another scope may have something for."""
_OF_NODES: Final = (ELSEWHERE, NO_SPARE_GPU, NO_TYPE_HAS_IT, PODS_KEPT_OUT, TOO_LARGE_POD)
"""What is said of pods by the nodes of their cluster."""
_NEEDED: Final = {UNLABELLED: NFD, DEVICES_BY_HAND: RUNTIME}
"""What a file needs of others for what is said of it not to be certain."""
_RELEASE: Final = re.compile(r"v?([0-9]+)\.([0-9]+)\b")
_ANYWHERE: Final = (LABEL, SHARED, NFD[0], DRIVER[0], SERVED[0], RUNTIME[0])
"""Kinds of what is told of files by others that they do not name."""


@dataclass(frozen=True)
class Naming:
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
    clusters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Normal paths of the files of clusters that have nodes with GPUs, by the clusters' names."""
    grave: tuple[frozenset[str], ...] = ()
    """Normal paths of the files of each scope of which an error or a warning is told."""

    @cached_property
    def layouts(self) -> Layouts:
        """How folders are laid out that nothing joins."""
        return Layouts(() if self._names_clusters else layouts(self.once))

    @cached_property
    def nearby(self) -> Nearby:
        """What of the files may be of the same cluster, though nothing joins them."""
        made = {key: files for key, files in self.having.items() if key[0] == MADE}
        return Nearby(self.once, self.objects, self.layouts, made)

    def files_laid_out(self) -> Iterator[frozenset[str]]:
        """The files of each layout, which are judged together."""
        every = self.objects.union(*self.once.values())
        for layout in self.layouts:
            yield frozenset(file for file in every if is_below(file, layout.folder))

    @property
    def _names_clusters(self) -> bool:
        kinds = [kind for kind, _ in self.named]
        return kinds.count(CLUSTER) > 1 or SOME_CLUSTERS in kinds

    @cached_property
    def references(self) -> dict[str, list[str]]:
        """The files that a file names something of, if one has it, or lies nearest, by its path."""
        found: dict[str, list[str]] = {}
        for key, files in self.named.items():
            if key[0] in _ANYWHERE:
                continue
            others = self.having.get(key, frozenset())
            for file in sorted(files - others):
                near = nearest(file, (e for e in others if not self.layouts.parts(file, e)))
                found.setdefault(file, []).extend(near)
        return {file: others for file, others in found.items() if others}

    def gives_labels_to(self, part: Naming) -> bool:
        """Whether nodes of other files have labels that a part selects, or shares that it asks for.

        So is what else files have wherever they lie. Of what its own have, no others tell more.
        """
        told = [key for key in part.named if key[0] in _ANYWHERE]
        others = part.clusters and part.clusters != self.clusters
        return bool(others) or any(
            (key in self.having and key not in part.having)
            # One by hand is held against whatever value pools have of it.
            or (key[0] == LABEL and _head(key) in self._labels - part._labels)
            for key in told
        )

    @cached_property
    def _labels(self) -> frozenset[str]:
        """Labels that something has, by their keys."""
        return frozenset(_head(key) for key in self.having if key[0] == LABEL)

    def with_other_scopes(self, judgement: Judgement) -> Judgement:
        """A finding as a note, where files of another scope give nodes what it says they lack.

        So is what is said of a number of GPUs, where some of a configuration are shares of one.

        Args:
            judgement: What was found within a document or a scope.
        """
        if not isinstance(judgement, Problem):
            return judgement
        if judgement.is_doubted:
            return replace(judgement, severity="info", edits=())
        if self._doubts(judgement) or self._gives(judgement):
            return replace(judgement, severity="info")
        return judgement

    def _doubts(self, judgement: Problem) -> bool:
        """Whether another scope may have what is meant."""
        file = posixpath.normpath(judgement.source.file)
        if judgement.rule in _OF_NODES and self._has_clusters_above(file):
            return True
        if judgement.rule is MAP_UNUSED:
            # A script may tell the operator of it, wherever it lies.
            return ("map", judgement.source.name.rpartition(" ")[2]) in self.named
        if judgement.rule is SPLIT or (
            judgement.rule is NO_SPARE_GPU and "ResourceQuota" not in judgement.message
        ):
            # A configuration may be for nodes that these pods do not get: neither is certain.
            return (SHARED, GPU) in self.having
        if judgement.rule is OTHER_RUNTIME:
            return BY_DEFAULT in self.having
        needed = _NEEDED.get(judgement.rule)
        return needed is not None and needed in self.having and file in self.named.get(needed, ())

    def _gives(self, judgement: Problem) -> bool:
        """Whether another scope has what nodes or charts lack."""
        if judgement.rule not in _LACKING:
            return False
        given: set[object] = {name for kind, name in self.having if kind == LABEL}
        named: set[object] = set()
        if judgement.rule is RESOURCE_AS_LABEL:
            named = set(RESOURCE_NAMES.findall(judgement.message))
        elif judgement.rule is BY_HAND:
            named = {
                name
                for name in given
                if judgement.message.startswith(f"The {name} is put on")
                or _is_of_its_key(judgement, str(name))
            }
        elif judgement.rule in (NO_DRIVER, NOWHERE) and judgement.severity:
            # The operator, wherever it is installed, brings one.
            named, given = {DRIVER}, set(self.having)
        elif judgement.rule is REMOVED_VERSION:
            named, given = {True}, {self._serves_karpenter(judgement)}
        elif judgement.rule is OLD_API and judgement.message.startswith(OLD_WORKLOADS):
            named, given = {OLD_OPENSHIFT}, set(self.having)
        elif judgement.rule is NO_DAEMON and CAPABLE in judgement.message:
            named = {f"label {CAPABLE}"}  # of nodes of another scope
        return bool(named & given)

    def _has_clusters_above(self, file: str) -> bool:
        """Whether a folder above has one of several clusters, so that pods may be for that too."""
        above = set(list(folders_above(posixpath.dirname(file)))[1:])
        files = frozenset[str]().union(*self.clusters.values())
        return len(self.clusters) > 1 and not above.isdisjoint(map(posixpath.dirname, files))

    def _serves_karpenter(self, judgement: Problem) -> bool:
        """Whether each Karpenter installed nearest, or above, is of before what a message says."""
        went = _RELEASE.findall(judgement.message)
        file = posixpath.normpath(judgement.source.file)
        above = set(folders_above(posixpath.dirname(file)))
        installed = {name: at for (kind, name), at in self.having.items() if kind == KARPENTER}
        common = {n: max(in_common(file, each) for each in at) for n, at in installed.items()}
        nearest_of_all = max(common.values(), default=0)
        names = [
            name
            for name, at in installed.items()
            if common[name] == nearest_of_all or not above.isdisjoint(map(posixpath.dirname, at))
        ]
        found = [_RELEASE.match(name) for name in names if name != str(UNKNOWN)]
        return bool(names and went) and all(
            each is not None and _order(each.groups()) < _order(went[-1]) for each in found
        )


def _is_of_its_key(judgement: Problem, name: str) -> bool:
    """Whether a label of a pool has the key of one put on a node by hand, by which it is chosen.

    Of those in NVIDIA's domain the value is what a node is told to do.
    """
    part, key = judgement.path
    chooses = part == "labels" and "nvidia.com/" not in str(key)
    return chooses and name.startswith(f"label {key}=")


def _head(key: tuple[str, str]) -> str:
    return key[1].partition("=")[0]


def _order(release: Iterable[str]) -> list[int]:
    return [int(part) for part in release]


def as_applied(
    judgement: Judgement, texts: Mapping[str, str], built: Iterable[frozenset[str]]
) -> Judgement:
    """A configuration that nothing names, or that a node asks for, as a note where it may be meant.

    A comment may say how the operator is told of it.

    Args:
        judgement: What was found.
        texts: Texts of the files by name.
        built: The files of each kustomization.
    """
    document = judgement.source.document
    if not isinstance(judgement, Problem) or not isinstance(document, Document):
        return judgement
    if judgement.rule not in (MAP_UNUSED, LABEL_UNREAD):
        return judgement
    tells = _TELLS if judgement.rule is MAP_UNUSED else _CHANGES
    is_told = tells.search(texts.get(document.file, "")) is not None
    if is_told or (judgement.rule is MAP_UNUSED and _is_put_out(judgement, document, texts, built)):
        return replace(judgement, severity="info")
    return judgement


def _is_put_out(
    judgement: Problem,
    document: Document,
    texts: Mapping[str, str],
    built: Iterable[frozenset[str]],
) -> bool:
    """Whether a map lies beside a kustomization that leaves it out, or a comment names it."""
    file = posixpath.normpath(document.file)
    beside = {posixpath.join(posixpath.dirname(file), name) for name in NAMES}
    has_one = bool(beside & {posixpath.normpath(name) for name in texts})
    if has_one and not any(file in files for files in built):
        return True
    off = re.compile(rf"#.*\bname: *[\"']?{re.escape(judgement.source.name.split()[-1])}\b")
    return any(off.search(text) for text in texts.values())


def naming(
    items: Iterable[Item], classes: Iterable[Document], given: Iterable[FileInReading] = ()
) -> Naming:
    """What some files have and name.

    Args:
        items: Items of the files.
        classes: Documents that are node classes.
        given: The files, for what their texts tell by themselves.
    """
    items = list(items)
    having: dict[tuple[str, str], set[str]] = {}
    named: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if isinstance(item, ConfigMap) and isinstance(item.name, str):
            having.setdefault(("map", item.name), set()).update(file_of(item.source.document))
        for key in names_of(item):
            named.setdefault(key, set()).update(file_of(item.source.document))
        for key in given_by(item):
            having.setdefault(key, set()).update(file_of(item.source.document))
    for document in classes:
        if (found := class_of(document)) is not None:
            having.setdefault(("class", found[0]), set()).update(file_of(document))
    _take_texts(given, named, having)
    once: dict[tuple[str, str], set[str]] = {}
    for key, file in once_of(items):
        once.setdefault(key, set()).add(file)
    own = [item for item in items if not is_guide(item.source.file)]
    files = frozenset(file for item in own for file in file_of(item.source.document))
    return _naming(having, named, once, files, changes_in(own))


def _take_texts(
    given: Iterable[FileInReading],
    named: dict[tuple[str, str], set[str]],
    having: dict[tuple[str, str], set[str]],
) -> None:
    """Add what texts tell by themselves to what files name and have."""
    for each in given:
        file = posixpath.normpath(each.name)
        for key in named_in(each.text):
            named.setdefault(key, set()).add(file)
        for key in given_in(each.text):
            having.setdefault(key, set()).add(file)


def _naming(
    having: Mapping[tuple[str, str], set[str]],
    named: Mapping[tuple[str, str], set[str]],
    once: Mapping[tuple[str, str], set[str]],
    files: frozenset[str],
    changes: Iterable[PolicyChange],
) -> Naming:
    clusters = {name: frozenset(of) for (kind, name), of in having.items() if kind == NODES_OF}
    one, other, third = (_frozen(each) for each in (having, named, once))
    return Naming(one, other, third, files, tuple(changes), clusters)


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
    return _naming(having, named, once, files, changes)
