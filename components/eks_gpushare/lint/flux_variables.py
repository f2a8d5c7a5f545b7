"""Variables that a Kustomization of Flux puts into the objects of the one folder that it applies.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution
(November 2026): `${name}` and `${name:=default}` of all that it builds. Those written in it go over
those of ConfigMaps and Secrets, of which the later go over the earlier, and a label or an
annotation leaves an object as it is. What several apply, as for each of several clusters, has no
one value; nor has what a kustomization of another folder builds too.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.by_value import ByValue
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.folders import folders_above, is_below, meant_in
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_files import NAMES
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_YAML: Final = (".yaml", ".yml")
_NAMED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?[=-]([^{}$\n]*))?\}")
_LEFT: Final = f"{_FLUX}substitute"
_SOURCE: Final = ("spec", "sourceRef")
_FROM: Final = ("spec", "postBuild", "substituteFrom")
_NAME: Final = ("metadata", "name")
_SPACE: Final = ("metadata", "namespace")
_OF_FLUX: Final = "flux-system"
_LONGEST: Final = 4096
"""Characters of a value that is put into a field; longer ones are texts of their own."""


class FluxVariables:
    """What variables stand for in the objects of files.

    Args:
        files: All files of the call.
        kustomizations: What of them is built. Default: nothing.
    """

    def __init__(
        self, files: Iterable[GivenFile] = (), kustomizations: Kustomizations | None = None
    ) -> None:
        own = [each for each in files if each.name.endswith(_YAML)]
        told = [each for each in own if _FLUX in each.text]
        self._kustomizations = Kustomizations(()) if kustomizations is None else kustomizations
        self._texts: dict[str, list[str]] = {}
        self._applied: dict[str, list[Mapping[str, str] | None]] = {}
        """What Kustomizations put in, by the folder; None of one that may put in anything."""
        if not any("postBuild" in each.text for each in told):
            return
        names = (posixpath.normpath(each.name) for each in own)
        folders = {each for name in names for each in folders_above(posixpath.dirname(name))}
        read = {each.name: self._built(each) for each in told}
        found = [each for made in read.values() for each in made if _is_flux(each.value)]
        wanted = {name for each in found for name in _names_of_maps(each)}
        near = (each for each in own if any(name in each.text for name in wanted))
        built = (one for each in near for one in read.get(each.name) or self._built(each))
        maps = ByValue(
            (each for each in built if at(each.value, "kind") == "ConfigMap"),
            lambda each: [at(each.value, *_NAME)],
        )
        sources = {repr(at(each.value, *_SOURCE)) for each in found}
        for document in found:
            # Of several sources, that of which Flux itself is installed is this repository.
            is_here = len(sources) == 1 or at(document.value, *_SOURCE, "name") == _OF_FLUX
            variables = _variables(document, maps) if is_here else None
            for folder in _folders(document, folders):
                self._applied.setdefault(folder, []).append(variables)
        self._texts = {each.name: each.text.split("\n") for each in own if "${" in each.text}

    def given(self, document: Document) -> Document:
        """An object with what its variables are, as far as the files decide it."""
        value = document.value
        lines = self._texts.get(document.file)
        if lines is None or at(value, "kind") is None:
            return document
        variables = self._variables_of(posixpath.normpath(document.file))
        marks = (at(value, "metadata", key, _LEFT) for key in ("labels", "annotations"))
        if not variables or any(mark is not None for mark in marks):
            return document
        made = _made(document, (), value, variables, lines)
        return document if made is value else replace(document, value=made, editable=False)

    def _variables_of(self, file: str) -> Mapping[str, str] | None:
        """What is put into a file, if all that apply it put in the same."""
        tops = self._tops.get(file)
        places = {posixpath.dirname(each) for each in tops or (file,)}
        found = [
            (each, tops is not None or self._is_taken(file, folder))
            for place in places
            for folder in folders_above(place)
            for each in self._applied.get(folder, ())
        ]
        first = found[0][0] if len(found) == len(places) else None
        return first if all(each == (first, True) for each in found) else None

    def _is_taken(self, file: str, folder: str) -> bool:
        """Whether a file that no kustomization names is applied with a folder: none lies between.

        Where one does, what it names is applied and nothing else.
        """
        between = folders_above(posixpath.dirname(file))
        return not any(
            posixpath.join(each, name) in self._kustomizations.contents
            for each in between
            if each == folder or is_below(each, folder)
            for name in NAMES
        )

    @cached_property
    def _tops(self) -> dict[str, list[str]]:
        """The kustomizations that are built of a file, by the file."""
        found: dict[str, list[str]] = {}
        for top in self._kustomizations.tops:
            for file in self._kustomizations.contents[top]:
                found.setdefault(file, []).append(top)
        return found

    def _built(self, file: GivenFile) -> list[Document]:
        documents = read_texts(file.text, file.name).documents
        return [each for document in documents for each in self._kustomizations.built(document)]


def _is_flux(value: Any) -> bool:
    return at(value, "kind") == "Kustomization" and str(at(value, "apiVersion")).startswith(_FLUX)


def _folder_of(document: Document) -> str:
    return posixpath.dirname(posixpath.normpath(document.build or document.file))


def _folders(document: Document, folders: set[str]) -> Iterator[str]:
    """Those that a Kustomization applies; by no path, or by one that is not known, all."""
    path = at(document.value, "spec", "path")
    named = posixpath.normpath(path.lstrip("/") or ".") if isinstance(path, str) else "."
    if named == ".":
        yield ""
    else:
        yield from meant_in(posixpath.normpath(document.file), named, (), folders)


def _names_of_maps(document: Document) -> Iterator[str]:
    for each in items(at(document.value, *_FROM)):
        yield str(at(each, "name"))


def _variables(document: Document, maps: ByValue[Document]) -> dict[str, str] | None:
    """What it puts in; None where some of it is in no file beside it."""
    space, folder = at(document.value, *_SPACE), _folder_of(document)
    found: dict[str, Any] = {}
    for each in items(at(document.value, *_FROM)):
        name = at(each, "name")
        near = maps.may_have(name)
        there = [one.value for one in near if is_below(f"{_folder_of(one)}/", folder)]
        if len(there) != 1 or at(each, "kind") != "ConfigMap" or UNKNOWN in (name, space):
            return None
        if (at(there[0], *_NAME), at(there[0], *_SPACE)) != (name, space):
            return None
        found |= dict(pairs(at(there[0], "data")))
    found |= dict(pairs(at(document.value, "spec", "postBuild", "substitute")))
    return {key: value for key, value in found.items() if _is_short(value)}


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value and len(value) <= _LONGEST


def _made(
    document: Document,
    place: FieldPath,
    value: Any,
    variables: Mapping[str, str],
    lines: Sequence[str],
) -> Any:
    """A value with what variables are in place of their names."""
    inner: Any
    if isinstance(value, dict):
        inner = {k: _made(document, (*place, k), v, variables, lines) for k, v in value.items()}
        return inner if any(inner[key] is not each for key, each in value.items()) else value
    if isinstance(value, list):
        inner = [_made(document, (*place, n), v, variables, lines) for n, v in enumerate(value)]
        return value if all(a is b for a, b in zip(inner, value, strict=True)) else inner
    # Texts of several lines are read where they are written.
    raw = document.raw(place) or "" if value is UNKNOWN else ""
    filled = _filled(raw, variables) if "${" in raw and "$$" not in raw else None
    if filled is None:
        return value
    line = lines[document.position(place).line - 1]
    if any(f"{quote}{raw}{quote}" in line for quote in "\"'"):
        return filled
    read = read_texts(f"a: {filled}\n", "a.yaml").documents
    return at(read[0].value, "a") if len(read) == 1 else value


def _filled(text: str, variables: Mapping[str, str]) -> str | None:
    """A text with what all of its variables are; None where one of them is not known."""
    values = [variables.get(found[1]) or found[2] for found in _NAMED.finditer(text)]
    if None in values:
        return None
    made = _NAMED.sub(lambda found: variables.get(found[1]) or found[2], text)
    return None if "${" in made else made
