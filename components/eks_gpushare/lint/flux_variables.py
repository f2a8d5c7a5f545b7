"""Variables that a Kustomization of Flux puts into the objects of the one folder that it applies.

Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution
(November 2026): `${name}` and `${name:=default}` of all that it builds. Those written in it go over
those of ConfigMaps and Secrets, of which the later go over the earlier, and a label or an
annotation leaves an object as it is. What several apply, as for each of several clusters, has no
one value.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.manifests.folders import folders_above, is_below, meant_in
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_FLUX: Final = "kustomize.toolkit.fluxcd.io/"
_KIND: Final = re.compile(r"^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?Kustomization\b", re.MULTILINE)
_YAML: Final = (".yaml", ".yml")
_NAMED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?[=-]([^{}$\n]*))?\}")
_LEFT: Final = f"{_FLUX}substitute"
_LONGEST: Final = 4096
"""Characters of a value that is put into a field; longer ones are texts of their own."""


class _Applied(NamedTuple):
    """A folder with what the Kustomization that applies it puts in, None if it puts nothing in."""

    folder: str
    variables: Mapping[str, str] | None


class FluxVariables:
    """What variables stand for in the objects of files.

    Args:
        files: All files of the call.
    """

    def __init__(self, files: Iterable[GivenFile] = ()) -> None:
        own = [each for each in files if each.name.endswith(_YAML) and not is_guide(each.name)]
        told = [each for each in own if _FLUX in each.text and _KIND.search(each.text)]
        self._texts: dict[str, list[str]] = {}
        self._applied: list[_Applied] = []
        if not any("postBuild" in each.text for each in told):
            return
        names = (posixpath.normpath(each.name) for each in own)
        folders = {each for name in names for each in folders_above(posixpath.dirname(name))}
        maps = list(_maps(own))
        for file in told:
            for document in read_texts(file.text, file.name).documents:
                self._applied += _applied(document, maps, folders)
        self._texts = {each.name: each.text.splitlines() for each in own if "${" in each.text}

    def given(self, document: Document) -> Document:
        """An object with what its variables are, as far as the files decide it."""
        value = document.value
        lines = self._texts.get(document.file)
        if lines is None or not isinstance(value, dict) or "kind" not in value or document.build:
            return document
        file = posixpath.normpath(document.file)
        applied = [each.variables for each in self._applied if is_below(file, each.folder)]
        marks = (at(value, "metadata", key, _LEFT) for key in ("labels", "annotations"))
        if len(applied) != 1 or not applied[0] or any(mark is not None for mark in marks):
            return document
        made = _made(document, (), value, applied[0], lines)
        return document if made is value else replace(document, value=made, editable=False)


def _maps(files: Iterable[GivenFile]) -> Iterator[tuple[str, Any]]:
    """ConfigMaps by the folders in which they lie."""
    for file in files:
        if "ConfigMap" in file.text and "data" in file.text and len(file.text) <= _LONGEST:
            for document in read_texts(file.text, file.name).documents:
                if at(document.value, "kind") == "ConfigMap":
                    yield posixpath.dirname(posixpath.normpath(file.name)), document.value


def _applied(
    document: Document, maps: Sequence[tuple[str, Any]], folders: set[str]
) -> Iterator[_Applied]:
    spec, group = at(document.value, "spec"), str(at(document.value, "apiVersion"))
    path = at(spec, "path")
    if at(document.value, "kind") != "Kustomization" or not group.startswith(_FLUX):
        return
    file = posixpath.normpath(document.file)
    named = posixpath.normpath(path.lstrip("/") or ".") if isinstance(path, str) else "."
    meant = [""] if named == "." else list(meant_in(file, named, (), folders))
    for folder in meant:
        yield _Applied(folder, _variables(document, maps))


def _variables(document: Document, maps: Sequence[tuple[str, Any]]) -> dict[str, str] | None:
    """What it puts in; None where some of it is in no file beside it."""
    told = at(document.value, "spec", "postBuild")
    space = at(document.value, "metadata", "namespace")
    folder = posixpath.dirname(posixpath.normpath(document.file))
    found: dict[str, Any] = {}
    for each in items(at(told, "substituteFrom")):
        name = at(each, "name")
        there = [
            one
            for where, one in maps
            if at(one, "metadata", "name") == name and (where == folder or is_below(where, folder))
        ]
        one = there[0] if len(there) == 1 and at(each, "kind") == "ConfigMap" else None
        if one is None or at(one, "metadata", "namespace") != space:
            return None
        found |= dict(pairs(at(one, "data")))
    found |= dict(pairs(at(told, "substitute")))
    return {key: value for key, value in found.items() if isinstance(value, str)}


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
    raw = document.raw(place) if value is UNKNOWN else value
    if not isinstance(raw, str) or "${" not in raw or "$$" in raw:
        return value
    filled = _filled(raw.strip() if value is UNKNOWN else raw, variables)
    if filled is None or value is not UNKNOWN:
        return value if filled is None else filled
    line = "".join(lines[document.position(place).line - 1 :][:1])
    if any(f"{quote}{raw.strip()}{quote}" in line for quote in "\"'"):
        return filled
    read = read_texts(f"a: {filled}\n", "a.yaml").documents
    return at(read[0].value, "a") if len(read) == 1 else value


def _filled(text: str, variables: Mapping[str, str]) -> str | None:
    """A text with what all of its variables are; None where one of them is not known."""
    made, last = "", 0
    for found in _NAMED.finditer(text):
        value = variables.get(found[1]) or found[2]
        if value is None or "\n" in value or len(value) > _LONGEST or "${" in value:
            return None
        made, last = f"{made}{text[last : found.start()]}{value}", found.end()
    made += text[last:]
    return None if "${" in made else made
