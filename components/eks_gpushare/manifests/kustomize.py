"""Kustomizations among the files of a call: their patches are applied before objects are judged.

Nothing is built: names stay without prefix and hash, which Kustomize changes wherever they are
named. What is not among the files, or cannot be applied, is said.

Source: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/ (November 2026).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.manifests.kustomize_charts import values_files, with_files
from eks_gpushare.manifests.strategic_merge import PatchError, merged, patched
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What Kustomize looks for in a folder."""
_GROUP: Final = "kustomize.config.k8s.io/"
_YAML: Final = (".yaml", ".yml", ".json")
_DEEPEST: Final = 20
_OF_OTHERS: Final = frozenset(("version", "sharing", "mig-configs"))
"""Keys that no kustomization has, but configurations."""
_NOT_NAMESPACED: Final = frozenset(
    (
        *("Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"),
        *("PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass", "DeviceClass"),
        *("NodePool", "NodeClass", "EC2NodeClass", "NodeOverlay", "ClusterQueue", "ClusterPolicy"),
        *("ResourceFlavor", "ValidatingAdmissionPolicy", "Kustomization"),
    )
)


class Patch(NamedTuple):
    """One patch, which is for all objects that its target names."""

    content: Any
    """An object to merge, or a list of operations."""
    target: Any
    """As written, None where the object itself says what it is for."""
    place: FieldPath
    """Where the kustomization names it."""


class Unapplied(NamedTuple):
    """What of a kustomization could not be followed."""

    document: Document
    place: FieldPath
    why: str


@dataclass
class Kustomization:
    """One file of that name."""

    document: Document
    patches: list[Patch] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    """Kustomizations that build on it."""

    @property
    def value(self) -> Any:
        """What is written in it."""
        return self.document.value

    @property
    def transforms(self) -> bool:
        """Whether it changes objects that it builds on."""
        return bool(self.patches) or any(at(self.value, key) for key in ("namespace", "replicas"))


class Kustomizations:
    """All kustomizations among some files.

    Args:
        files: The files.
    """

    def __init__(self, files: Iterable[GivenFile]) -> None:
        self._texts = {posixpath.normpath(file.name): file.text for file in files}
        self.unapplied: list[Unapplied] = []
        self.patch_files: set[str] = set()
        """Files with nothing but patches, which are no objects."""
        self._by_file: dict[str, Kustomization] = {}
        self._owners: dict[str, list[str]] = {}
        for name, content in self._texts.items():
            if _may_be_one(name, content):
                for document in read_texts(content, name).documents[:1]:
                    if is_kustomization(document):
                        self._by_file[name] = Kustomization(document)
        self.charts: dict[str, str] = {}
        """Charts that files of values are for, by their paths."""
        self.layers: set[str] = set()
        """Files of values that are but a part of those of a release."""
        for name, each in self._by_file.items():
            self._follow(name, each)
            for named, chart, is_all in values_files(each.value):
                path = self._path(name, named)
                self.charts[path] = chart
                self.layers |= set() if is_all else {path}

    def content(self, kustomization: str, named: str) -> str | None:
        """The text of a file that a kustomization names; None where it is not given."""
        return self._texts.get(self._path(kustomization, named))

    def _path(self, kustomization: str, named: str) -> str:
        return posixpath.normpath(
            posixpath.join(posixpath.dirname(posixpath.normpath(kustomization)), named)
        )

    def _follow(self, name: str, each: Kustomization) -> None:
        for key in ("resources", "bases", "components"):
            for number, entry in enumerate(items(at(each.value, key))):
                if not isinstance(entry, str):
                    continue
                path = self._path(name, entry)
                if "://" in entry or entry.startswith(("github.com/", "git@")):
                    self._say(each, (key, number), f"{entry} is elsewhere and is not fetched")
                elif path in self._texts:
                    self._owners.setdefault(path, []).append(name)
                elif (base := self._in_folder(path)) is not None:
                    self._by_file[base].parents.append(name)
                else:
                    self._say(each, (key, number), f"{entry} is not among the files")
        for place, target, written in _written_patches(each.value):
            self._take(name, each, place, target, written)

    def _in_folder(self, path: str) -> str | None:
        return next(
            (
                found
                for found in (posixpath.join(path, each) for each in NAMES)
                if found in self._by_file
            ),
            None,
        )

    def _take(
        self, name: str, each: Kustomization, place: FieldPath, target: Any, written: str
    ) -> None:
        path = self._path(name, written)
        content = self._texts.get(path)
        if content is None and written.rstrip().endswith(_YAML) and "\n" not in written:
            self._say(each, place, f"the patch {written} is not among the files")
            return
        if content is not None:
            self.patch_files.add(path)
        read = read_texts(written if content is None else content, name)
        if read.problems:
            self._say(each, place, "a patch cannot be read as YAML")
        for found in read.documents:
            if isinstance(found.value, list | dict):
                each.patches.append(Patch(found.value, target, place))

    def _say(self, each: Kustomization, place: FieldPath, why: str) -> None:
        self.unapplied.append(Unapplied(each.document, place, why))

    def built(self, document: Document) -> Document:
        """A document of a resource as it is once all kustomizations above it have changed it."""
        if is_kustomization(document):
            return self._with_contents(document)
        owners = self._owners.get(posixpath.normpath(document.file))
        if not owners or not isinstance(document.value, dict) or "kind" not in document.value:
            return document
        value = document.value
        for name in self._chain(owners):
            value = self._changed(value, self._by_file[name])
        return (
            document if value is document.value else replace(document, value=value, editable=False)
        )

    def _with_contents(self, document: Document) -> Document:
        """A kustomization whose generators have the texts of files that are given."""
        content = partial(self.content, document.file)
        charts = items(at(document.value, "helmCharts"))
        inflated = [with_files(chart, content) for chart in charts]
        if inflated != charts:
            document = replace(
                document, value={**document.value, "helmCharts": inflated}, editable=False
            )
        made: list[Any] = []
        for each in items(at(document.value, "configMapGenerator")):
            files = [one for one in items(at(each, "files")) if isinstance(one, str)]
            literals, left = list(items(at(each, "literals"))), []
            for named in files:
                key, equals, path = named.partition("=")
                text_of = content(path if equals else key)
                name = key if equals else posixpath.basename(key)
                if text_of is None:
                    left.append(named)
                else:
                    literals.append(f"{name}={text_of}")
            made.append({**each, "files": left, "literals": literals} if files else each)
        if not made:
            return document
        return replace(
            document, value={**document.value, "configMapGenerator": made}, editable=False
        )

    def _chain(self, owners: Sequence[str]) -> Iterator[str]:
        """The kustomizations that change an object, the innermost first.

        Where several build on one, such as an overlay for each environment, objects differ: what is
        judged then is what they have in common.
        """
        found, seen = list(dict.fromkeys(owners)), set[str]()
        for _ in range(_DEEPEST):
            if len(found) != 1 or found[0] in seen:
                for name in found if len(found) > 1 else ():
                    each = self._by_file[name]
                    why = "other kustomizations build on the same files, so it is not applied"
                    told = Unapplied(each.document, (), why)
                    if each.transforms and told not in self.unapplied:
                        self.unapplied.append(told)
                return
            seen.add(found[0])
            yield found[0]
            found = list(dict.fromkeys(self._by_file[found[0]].parents))

    def _changed(self, value: Any, each: Kustomization) -> Any:
        for patch in each.patches:
            if not _is_for(patch, value):
                continue
            try:
                if isinstance(patch.content, list):
                    value = patched(value, patch.content)
                else:
                    value = _with_its_name(merged(value, patch.content), value)
            except PatchError as error:
                self._say(
                    each, patch.place, f"the patch does not go with {_called(value)}: {error}"
                )
        space = at(each.value, "namespace")
        kind = at(value, "kind")
        if isinstance(space, str) and space and kind not in _NOT_NAMESPACED:
            metadata = at(value, "metadata")
            named = dict(metadata) if isinstance(metadata, dict) else {}
            value = {**value, "metadata": {**named, "namespace": space}}
        for entry in items(at(each.value, "replicas")):
            if at(entry, "name") == at(value, "metadata", "name") and at(value, "spec") is not None:
                value = {**value, "spec": {**at(value, "spec"), "replicas": at(entry, "count")}}
        return value


def is_kustomization(document: Document) -> bool:
    """Whether a document is one, be it by the name of its file alone."""
    value = document.value
    if not isinstance(value, dict) or document.at:
        return False
    # A configuration that is a literal of it has the file's name too.
    named = posixpath.basename(document.file) in NAMES and not _OF_OTHERS & value.keys()
    # Kustomize fills in either by itself.
    version = value.get("apiVersion") or (_GROUP if named else "")
    kind = value.get("kind") or ("Kustomization" if named else "")
    return str(version).startswith(_GROUP) and kind in ("Kustomization", "Component")


def _may_be_one(name: str, content: str) -> bool:
    return posixpath.basename(name) in NAMES or (name.endswith(_YAML) and _GROUP in content)


def _written_patches(value: Any) -> Iterator[tuple[FieldPath, Any, str]]:
    """Each patch that is named or written, with its place and its target."""
    for key in ("patches", "patchesJson6902"):
        for number, each in enumerate(items(at(value, key))):
            for inner in ("path", "patch"):
                written = at(each, inner)
                if isinstance(written, str) and written.strip():
                    yield (key, number, inner), at(each, "target"), written
    for number, each in enumerate(items(at(value, "patchesStrategicMerge"))):
        if isinstance(each, str) and each.strip():
            yield ("patchesStrategicMerge", number), None, each


def _is_for(patch: Patch, value: Any) -> bool:
    group, _, version = str(text(at(value, "apiVersion"))).rpartition("/")
    has = {
        "group": group,
        "version": version,
        "kind": str(text(at(value, "kind"))),
        "name": str(text(at(value, "metadata", "name"))),
        "namespace": str(text(at(value, "metadata", "namespace"))),
    }
    if patch.target is None:
        if not isinstance(patch.content, dict):
            return False
        own = patch.content
        return (
            str(text(at(own, "kind"))) == has["kind"]
            and str(text(at(own, "apiVersion"))).rpartition("/")[0] == group
            and at(own, "metadata", "name") == at(value, "metadata", "name")
        )
    for key, given in has.items():
        wanted = at(patch.target, key)
        if wanted is UNKNOWN:
            return False
        if isinstance(wanted, str) and wanted and not _matches(wanted, given):
            return False
    for key, place in (("labelSelector", "labels"), ("annotationSelector", "annotations")):
        selector = at(patch.target, key)
        if isinstance(selector, str) and not _selects(selector, at(value, "metadata", place)):
            return False
    return True


def _with_its_name(made: Any, given: Any) -> Any:
    """A patched object by the name and kind that it had: a patch with a target changes neither."""
    for key in ("apiVersion", "kind"):
        made = {**made, key: at(given, key)}
    metadata = made.get("metadata")
    if isinstance(metadata, dict) and at(given, "metadata", "name") is not None:
        made = {**made, "metadata": {**metadata, "name": at(given, "metadata", "name")}}
    return made


def _matches(pattern: str, given: str) -> bool:
    """As Kustomize takes targets: regular expressions for the whole of a field."""
    try:
        return re.fullmatch(pattern, given, re.ASCII) is not None
    except re.error:
        return False  # and Kustomize refuses it


def _selects(selector: str, labels: Any) -> bool:
    """Equalities of a selector alone; what has others is taken to select nothing."""
    for each in selector.split(","):
        key, joined, wanted = each.strip().replace("==", "=").partition("=")
        if not joined or key.endswith("!") or str(text(at(labels, key.strip()))) != wanted.strip():
            return False
    return True


def _called(value: Any) -> str:
    return f"the {at(value, 'kind')} {at(value, 'metadata', 'name')}"
