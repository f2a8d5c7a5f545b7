"""Folders that applications of Argo CD and Flux name, from the top of their repository.

Argo CD gives its namespace to objects that have none, `DeduplicateTargetObjects` in
controller/state.go of argoproj/argo-cd 3.5 (37ee0097), and Flux to all:
https://fluxcd.io/flux/components/kustomize/kustomizations/#target-namespace; November 2026.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.lint.applied_changes import ANYTHING, in_common, of_argo, of_flux
from eks_gpushare.manifests.application_sets import (
    TEMPLATE,
    filled,
    is_set,
    parameters,
    sources_of,
)
from eks_gpushare.manifests.folders import folders_above, meant_in, with_name
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_namespaces import NOT_NAMESPACED
from eks_gpushare.manifests.kustomize_patches import unsure
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile
    from eks_gpushare.manifests.kustomize import Kustomization

_ARGO: Final = "argoproj.io/"
_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_NAMING: Final = re.compile(
    r"""kind["']?\s*:\s*["']?(?:Application|ApplicationSet|Kustomization)\b"""
)
"""Of most files with annotations of Argo CD nothing more is read than this."""
_SPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class Applied(NamedTuple):
    """A folder that an application has applied, or a pattern for several (`manifests.folders`)."""

    folder: str
    space: str = ""
    """The namespace that its objects get; empty where none is known. May be of a pattern's name."""
    below: bool = False
    """Whether so do those of folders in it."""
    over: bool = False
    """Whether so do objects that have one."""
    changes: Mapping[str, Any] = {}
    """Fields of a kustomization that it has over what it finds there."""


def applied_by(file: GivenFile) -> list[Applied]:
    """What applications of Argo CD and kustomizations of Flux in a file name."""
    is_told = (_ARGO in file.text or _FLUX in file.text) and not is_guide(file.name)
    if is_told and _NAMING.search(file.text):
        documents = read_texts(file.text, file.name).documents
        return [each for document in documents for each in _named(document)]
    return []


def _named(document: Document) -> Iterator[Applied]:
    group, kind = str(at(document.value, "apiVersion")), at(document.value, "kind")
    spec = at(document.value, "spec")
    named: Iterable[Applied] = ()
    if group.startswith(_FLUX) and kind == "Kustomization":
        space = str(at(spec, "targetNamespace") or "")
        told = _applied(at(spec, "path"), space, below=True, over=True)
        named = [told._replace(changes=of_flux(spec))]
    elif group.startswith(_ARGO) and kind == "Application":
        space = str(at(spec, "destination", "namespace") or "")
        named = [_of_source(each, at(each, "path"), space) for _, each in sources_of(spec)]
    elif is_set(document.value):
        named = _of_set(document)
    for each in named:
        folder = posixpath.normpath(each.folder.lstrip("/") or ".")
        if folder != ".":
            yield each._replace(folder=folder)


def _applied(path: Any, space: str, *, below: bool, over: bool = False) -> Applied:
    return Applied(path if isinstance(path, str) else "", space, below, over)


def _of_source(source: Any, path: Any, space: str) -> Applied:
    told = _applied(path, space, below=at(source, "directory", "recurse") is True)
    return told._replace(changes=of_argo(source))


def _of_set(document: Document) -> Iterator[Applied]:
    """Those of all applications that an ApplicationSet makes, where they go to one cluster.

    Of parameters that stand elsewhere, in files or of clusters, it is not known what they name.
    """
    spec = at(document.value, "spec")
    made = [each for one in items(at(spec, "generators")) for each in parameters(one)]
    where = [document.raw((*TEMPLATE, "destination", key)) for key in ("server", "name")]
    if len({tuple(filled(each, values) for each in where) for values in made}) != 1:
        return
    space = document.raw((*TEMPLATE, "destination", "namespace"))
    sources = [
        (source, document.raw((*TEMPLATE, *place, "path")))
        for place, source in sources_of(at(document.value, *TEMPLATE))
    ]
    found: dict[bool, list[Applied]] = {True: [], False: []}
    for values in made:
        for source, path in sources:
            folder = filled(path, values) or ""
            if "{{" not in folder and folder.strip("*?/"):
                one = _of_source(source, folder, filled(space, values) or "")
                found[values.get("exclude") != "True"].append(one)
    yield from found[True]
    kept = {each.folder for each in found[True]}
    yield from (Applied(f"!{each.folder}") for each in found[False] if each.folder not in kept)


def of_files(
    files: Iterable[GivenFile], kustomizations: Kustomizations | None = None
) -> tuple[dict[str, list[str]], AppliedFolders]:
    """The folders that applications of each file name, by its normal path, and what they get."""
    applied = {posixpath.normpath(file.name): applied_by(file) for file in files}
    folders = {file: [each.folder for each in found] for file, found in applied.items()}
    return folders, AppliedFolders(applied, applied, kustomizations)


class AppliedFolders:
    """What objects get by the applications which name their folders.

    Args:
        applied: What the applications of each file name, by its normal path.
        files: The normal paths of all files.
        kustomizations: Those among the files.
    """

    def __init__(
        self,
        applied: Mapping[str, Sequence[Applied]] | None = None,
        files: Iterable[str] = (),
        kustomizations: Kustomizations | None = None,
    ) -> None:
        applied = applied or {}
        self._of: dict[str, list[Applied]] = {}
        self._kustomizations = kustomizations or Kustomizations(())
        self._over: dict[str, list[tuple[Mapping[str, Any], Kustomization]]] = {}
        is_any = any(each.space or each.changes for found in applied.values() for each in found)
        folders = {each for file in files for each in folders_above(posixpath.dirname(file))}
        for file, found in applied.items() if is_any else ():
            left_out = [each.folder for each in found if each.folder.startswith("!")]
            for each in found:
                for folder in meant_in(file, each.folder, left_out, folders):
                    space = with_name(each.space, each.folder, folder)
                    self._of.setdefault(folder, []).append(each._replace(space=space))

    def given(self, document: Document) -> list[Document]:
        """An object as it is there, as far as that is certain; none if it is deleted."""
        kind = at(document.value, "kind")
        if not self._of or not isinstance(kind, str):
            return [document]
        folder = posixpath.dirname(posixpath.normpath(document.build or document.file))
        near = [] if document.build else list(folders_above(folder))[1:]
        found = [(folder, each) for each in self._of.get(folder, ())]
        found += [(outer, e) for outer in near for e in self._of.get(outer, ()) if e.below]
        if any(each.changes for _, each in found):
            value = self._changed(document.value, found)
            if value is None:
                return []
            document = replace(document, value=value, editable=document.value is value)
        is_named = kind not in NOT_NAMESPACED
        return [_in_space(document, [each for _, each in found]) if is_named else document]

    def _changed(self, value: Any, found: Sequence[tuple[str, Applied]]) -> Any:
        """What all of some applications make of an object; None if all delete it."""
        made = [self._along(value, each.changes, folder) for folder, each in found]
        kept = [each for each in made if each is not None]
        return reduce(in_common, kept) if kept else None

    def _along(self, value: Any, changes: Mapping[str, Any], folder: str) -> Any:
        if changes is ANYTHING:
            return unsure(value)
        known = self._over.setdefault(folder, [])
        over = next((each for fields, each in known if fields is changes), None)
        if over is None:
            over = self._kustomizations.over(changes, folder)
            known.append((changes, over))
        return self._kustomizations.changed(value, over)


def _in_space(document: Document, found: Sequence[Applied]) -> Document:
    """An object in the namespace that it gets; as it is, where that is not certain."""
    value, spaces = document.value, {each.space for each in found}
    space = spaces.pop() if len(spaces) == 1 else ""
    own = at(value, "metadata", "namespace")
    if not _SPACE.fullmatch(space) or (own and not all(each.over for each in found)):
        return document
    metadata = dict(pairs(value.get("metadata")))
    return replace(document, value={**value, "metadata": {**metadata, "namespace": space}})
