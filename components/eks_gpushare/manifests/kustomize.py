"""Kustomizations among the files of a call: their patches are applied before objects are judged.

Nothing is built: names stay without prefix and hash, which Kustomize changes wherever they are
named. What is not among the files, or cannot be applied, is said.

Source: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/ (November 2026).
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.folders import those_meant
from eks_gpushare.manifests.kustomize_charts import values_files
from eks_gpushare.manifests.kustomize_files import (
    NAMES,
    YAML,
    is_kustomization,
    may_be_kustomization,
)
from eks_gpushare.manifests.kustomize_generators import (
    configured_by,
    generated,
    generated_from,
    inherited,
    with_contents,
)
from eks_gpushare.manifests.kustomize_images import with_images
from eks_gpushare.manifests.kustomize_labels import with_labels
from eks_gpushare.manifests.kustomize_namespaces import in_namespace, tops_that_build
from eks_gpushare.manifests.kustomize_patches import (
    Patch,
    as_written,
    deletes,
    is_for,
    unsure,
    with_its_name,
    written_patches,
)
from eks_gpushare.manifests.kustomize_replacements import with_replacements
from eks_gpushare.manifests.kustomize_sources import BuiltFile, Sources
from eks_gpushare.manifests.strategic_merge import PatchError, merged, patched
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.files import GivenFile

_DEEPEST: Final = 20
_MOST_WAYS: Final = 8
"""Most ways by which one kustomization comes to one object."""
_CHANGES: Final = ("components", "patches", "patchesJson6902", "patchesStrategicMerge")
_MADE: Final = ("replacements", "transformers")
"""What else gives objects other values, and is not followed."""
_GENERATOR: Final = "configMapGenerator"
_WITH_REPLICAS: Final = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")


class Unapplied(NamedTuple):
    """What of a kustomization could not be followed."""

    document: Document
    place: FieldPath
    why: str
    ends: bool = False
    """Whether Kustomize ends by it, and builds nothing."""


@dataclass
class Kustomization:
    """One file of that name."""

    document: Document
    patches: list[Patch] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    """Kustomizations that build on it."""
    named: list[str] = field(default_factory=list)
    """Files of patches, values and generators that it names."""
    replacements: list[Any] = field(default_factory=list)
    components: list[str] = field(default_factory=list)
    """Components, whose patches are for all that it builds on."""

    @property
    def value(self) -> Any:
        """What is written in it."""
        return self.document.value


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
        self._sources = Sources(self._files_of, self._along)
        for name, content in self._texts.items():
            if may_be_kustomization(name, content):
                for document in read_texts(content, name).documents[:1]:
                    if is_kustomization(document):
                        self._by_file[name] = Kustomization(document)
        self.charts: dict[str, str] = {}
        """Charts that files of values are for, by their paths."""
        self.layers: set[str] = set()
        """Files of values that are but a part of those of a release."""
        for name, kustomization in self._by_file.items():
            self._follow(name, kustomization)
            for named, chart, is_all in values_files(kustomization.value):
                path = self._path(name, named)
                kustomization.named.append(path)
                self.charts[path] = chart
                self.layers |= set() if is_all else {path}
        self.contents = {name: frozenset(self._contents(name, set())) for name in self._by_file}
        """Each kustomization by its file, with the files that it is built of and its own."""
        found = tops_that_build(
            tops_of(self.contents),
            self.contents,
            lambda name: self._by_file[name].value if name in self._by_file else None,
            lambda name: "" if name in self.patch_files else self._texts.get(name, ""),
        )
        self.tops = found[0]
        """Those that are built: what no other builds on."""
        self.that_build = {k: files for k, files in self.contents.items() if k not in found[1]}
        """Those at which Kustomize is not known to end, with their files."""

    def build_in(self, folders: Iterable[str]) -> None:
        """Build those of some folders too, whatever builds on them.

        Args:
            folders: Folders as applications name them, from the top of a repository.
        """
        is_meant = those_meant(folders)
        self.tops += [
            name
            for name in self.contents
            if name not in self.tops and is_meant(posixpath.dirname(name))
        ]

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
                    each.components += [base] if key == "components" else []
                else:
                    self._say(each, (key, number), f"{entry} is not among the files")
        each.named += [self._path(name, one) for one in generated_from(each.value)]
        for place, target, written in written_patches(each.value):
            self._take(name, each, place, as_written(each.document, place, target), written)
        for number, entry in enumerate(items(at(each.value, "replacements"))):
            path = at(entry, "path")
            if isinstance(path, str):
                self._take_replacements(name, each, ("replacements", number, "path"), path)
            else:
                each.replacements.append(entry)

    def _in_folder(self, path: str) -> str | None:
        return next(
            (
                found
                for found in (posixpath.join(path, name) for name in NAMES)
                if found in self._by_file
            ),
            None,
        )

    def _contents(self, name: str, seen: set[str]) -> Iterator[str]:
        if name in seen:
            return
        seen.add(name)
        yield name
        each = self._by_file[name]
        for file, owners in self._owners.items():
            if name in owners:
                yield file
        for inner, other in self._by_file.items():
            if name in other.parents:
                yield from self._contents(inner, seen)
        yield from (path for path in each.named if path in self._texts)

    def _take(
        self, name: str, each: Kustomization, place: FieldPath, target: Any, written: str
    ) -> None:
        path = self._path(name, written)
        content = self._texts.get(path)
        each.named.append(path)
        if content is None and written.rstrip().endswith(YAML) and "\n" not in written:
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

    def _take_replacements(
        self, name: str, each: Kustomization, place: FieldPath, written: str
    ) -> None:
        path = self._path(name, written)
        content = self._texts.get(path)
        if content is None:
            self._say(each, place, f"the file {written} is not among the files")
            return
        each.named.append(path)
        self.patch_files.add(path)
        for document in read_texts(content, path).documents:
            one = document.value
            each.replacements += items(one) or ([one] if isinstance(one, dict) else [])

    def _files_of(self, name: str) -> Iterator[BuiltFile]:
        """What a kustomization is built of, with its objects before anything is applied to them."""
        for file in sorted(self.contents[name] - self.patch_files):
            each = self._by_file.get(file)
            owners = self._owners.get(file, []) if each is None else [file]
            text = self._texts[file] if each is None else None
            values = partial(self._values, file, each)
            yield BuiltFile(file, text, values, list(self._chains(owners, name)))

    def _values(self, file: str, each: Kustomization | None) -> list[Any]:
        if each is not None:
            return list(generated(each.value, partial(self.content, file)))
        return [one.value for one in read_texts(self._texts[file], file).documents]

    def _along(self, value: Any, chain: Sequence[str]) -> Any:
        """An object as it is at the end of a way; None where a patch deletes it."""
        for name in chain:
            value = self._with_components(value, self._by_file[name], set(chain))
        return value

    def _ends(self, each: Kustomization, patch: Patch, value: Any) -> bool:
        """Whether Kustomize is the first time known to end, at operations on what has GPUs."""
        if has_unknown([value, patch.content]):
            return False
        if any(at(one, "op") == "copy" for one in patch.content):
            return False  # which of nothing makes null
        changed = any(at(one.value, key) for one in self._by_file.values() for key in _MADE)
        told = [one for one in self.unapplied if one.place[0] in _CHANGES]
        known = not changed and all(one.ends and one.document is not each.document for one in told)
        return known and "nvidia.com/" in f"{value} {patch.content}"

    def _say(self, each: Kustomization, place: FieldPath, why: str, *, ends: bool = False) -> None:
        told = Unapplied(each.document, place, why, ends)
        if told not in self.unapplied:
            self.unapplied.append(told)

    def built(self, document: Document) -> list[Document]:
        """A document once for each kustomization whose result it is part of, as it is there."""
        if is_kustomization(document):
            document = with_contents(document, partial(self.content, document.file))
        file = posixpath.normpath(document.file)
        owners = [file] if file in self._by_file else self._owners.get(file, [])
        is_object = isinstance(document.value, dict) and "kind" in document.value
        found: list[Document] = []
        is_deleted = False
        above = self._above(owners)
        for top in self.tops:
            for chain in self._chains(owners, top) if top in above else ():
                is_changed = is_object and file not in self._by_file
                value = self._along(document.value, chain) if is_changed else document.value
                if file in self._by_file and at(value, _GENERATOR):
                    built = sorted(self.contents[top] & self._by_file.keys())
                    made = ((self._by_file[one].value, partial(self.content, one)) for one in built)
                    value = {**value, "configurations": configured_by(made)}
                    value |= {_GENERATOR: self._inherited(file, value, built)}
                if value is None and document.value is not None:
                    is_deleted = True
                    continue
                may = document.editable and value is document.value
                found.append(replace(document, value=value, editable=may, build=top))
        return found or ([] if is_deleted else [document])

    def _inherited(self, file: str, value: Any, built: Iterable[str]) -> list[Any]:
        """The generators of a kustomization, with those of what it is built with."""
        others = (
            (file in self.contents[n], self._by_file[n].document, partial(self.content, n))
            for n in built
            if n != file and (file in self.contents[n] or n in self.contents[file])
        )
        return inherited(at(value, _GENERATOR), others)

    def over(self, fields: Mapping[str, Any], folder: str) -> Kustomization:
        """Fields of a kustomization that stand elsewhere, for what is built in a folder."""
        file = posixpath.join(folder, NAMES[0])
        made = Kustomization(Document(file, dict(fields), lambda _: Position(1, 1)))
        for place, target, written in written_patches(fields):
            self._take(file, made, place, target, written)
        paths = (self._path(file, str(each)) for each in items(fields.get("components")))
        made.components = [found for each in paths if (found := self._in_folder(each))]
        return made

    def changed(self, value: Any, by: Kustomization) -> Any:
        """An object that is built with such fields over it; None where they delete it."""
        told = len(self.unapplied)
        made = self._with_components(value, by, set())
        del self.unapplied[told:]  # whose place would be that of no file
        return made

    def _above(self, owners: Sequence[str]) -> set[str]:
        """All that build on some kustomizations, and these."""
        found, waiting = set(owners), list(owners)
        while waiting:
            parents = set(self._by_file[waiting.pop()].parents) - found
            found |= parents
            waiting += parents
        return found

    def _chains(self, owners: Sequence[str], top: str) -> Iterator[list[str]]:
        """The ways from an object up to a kustomization, each the innermost first."""
        found = 0
        waiting = [[owner] for owner in dict.fromkeys(owners)]
        while waiting and found < _MOST_WAYS:
            chain = waiting.pop(0)
            if chain[-1] == top:
                found += 1
                yield chain
            elif len(chain) < _DEEPEST:
                parents = dict.fromkeys(self._by_file[chain[-1]].parents)
                waiting += [[*chain, parent] for parent in parents if parent not in chain]

    def _with_components(self, value: Any, each: Kustomization, taken: set[str]) -> Any:
        """What its components, and those that they take in turn, make of an object, and it then."""
        for name in each.components:
            if name not in taken:
                taken.add(name)
                value = self._with_components(value, self._by_file[name], taken)
        return value if value is None else self._changed(value, each)

    def _changed(self, value: Any, each: Kustomization) -> Any:
        for patch in each.patches:
            if not is_for(patch, value):
                continue
            if deletes(patch):
                return None
            try:
                if isinstance(patch.content, list):
                    value = patched(value, patch.content)
                else:
                    value = with_its_name(merged(value, patch.content), value)
            except PatchError as error:
                called = f"{at(value, 'kind')} {at(value, 'metadata', 'name')}"
                why = f"the patch does not go with the {called}: {error}"
                self._say(each, patch.place, why, ends=self._ends(each, patch, value))
        value = unsure(value) if at(each.value, "transformers") else value
        value = with_images(value, at(each.value, "images"))
        value = with_labels(in_namespace(value, at(each.value, "namespace")), each.value)
        of_kind = at(value, "kind") in _WITH_REPLICAS
        for entry in items(at(each.value, "replicas")) if of_kind else ():
            spec = at(value, "spec")
            if at(entry, "name") == at(value, "metadata", "name") and isinstance(spec, dict):
                value = {**value, "spec": {**spec, "replicas": at(entry, "count")}}
        if not each.replacements:
            return value
        own = posixpath.normpath(each.document.file)
        return with_replacements(value, each.replacements, partial(self._sources.selected, own))


def tops_of(contents: Mapping[str, frozenset[str]]) -> list[str]:
    """Kustomizations that are in no other; of some that are in one another, the first."""
    inside = {file for name, files in contents.items() for file in files if file != name}
    found = [name for name in contents if name not in inside]
    covered = frozenset[str]().union(*(contents[name] for name in found))
    for name in contents:
        if name not in covered:
            found.append(name)
            covered |= contents[name]
    return found
