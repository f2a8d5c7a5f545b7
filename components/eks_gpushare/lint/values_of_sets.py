"""Files of values that the applications of an ApplicationSet take, each by its own parameters.

Files that go to several clusters, one each, are alternatives. A name that comes out of parameters
and is no file's is told where another file was meant: Argo CD passes such over where
`ignoreMissingValueFiles` is set, https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files.
"""

from __future__ import annotations

import posixpath
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.lint.rules.files import NO_VALUES
from eks_gpushare.manifests.application_sets import (
    TEMPLATE,
    filled,
    flat,
    is_set,
    parameters,
    sources_of,
)
from eks_gpushare.manifests.charts import chart_named
from eks_gpushare.manifests.folders import those_meant
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_TOP: Final = re.compile(r"^\$[A-Za-z0-9_-]+/")
"""What begins a path from the top of another source's repository."""
_BEGINNING: Final = re.compile(r"^(?:\$[A-Za-z0-9_-]+/|/|\.{1,2}/)*")
"""What begins a path from wherever it is."""
_INSTALLS: Final = re.compile(r"kind:\s*[\"']?(?:Application|ApplicationSet|HelmRelease)\b")
_SET: Final = re.compile(r"kind:\s*[\"']?ApplicationSet\b")
_CLOSE: Final = 0.8


class _Named(NamedTuple):
    """A file of values that one application of a set takes."""

    document: Document
    place: FieldPath
    cluster: str
    """Where the application goes; empty where that is not known."""
    path: str
    """From the top of a repository."""
    pattern: str
    """What the set calls it."""
    is_of_gpus: bool
    """Whether it is for a chart that is known."""
    may_lack: bool
    """Whether Argo CD passes it over if it is not there."""


def patterns_named(file: GivenFile) -> list[str]:
    """Files of values and of parameters that applications, sets of them and releases may name.

    Each is a path from wherever it begins, or a pattern of several.
    """
    told = "valueFiles" in file.text or "valuesFiles" in file.text
    if not told or is_guide(file.name) or not _INSTALLS.search(file.text):
        return []
    found: list[str] = []
    for document in read_texts(file.text, file.name).documents:
        for place, _ in _texts(document.value, ()):
            if place[-2:-1] in (("valueFiles",), ("valuesFiles",)) or place[-3:-2] == ("files",):
                found.append(_BEGINNING.sub("", _glob(document.raw(place) or "")))
    return list(dict.fromkeys(filter(None, found)))


def _texts(value: Any, above: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """All scalars with their places."""
    inner = pairs(value) if isinstance(value, dict) else enumerate(items(value))
    if isinstance(value, dict | list):
        for key, each in inner:
            yield from _texts(each, (*above, key))
    else:
        yield above, value


def clusters_of_values(texts: Mapping[str, str]) -> dict[str, str]:
    """Files that sets give to one cluster alone each, with how the set calls that.

    Args:
        texts: Texts of files by their names.
    """
    found: dict[str, set[str]] = {}
    for each in _named(texts):
        path = _only(each.path, texts)
        if path is not None:
            found.setdefault(path, set()).add(each.cluster)
    return {path: min(of) for path, of in found.items() if len(of) == 1 and "" not in of}


def missing_of_sets(texts: Mapping[str, str]) -> Iterator[Problem]:
    """Names that parameters make of no file, where one is there that no other parameters mean.

    Args:
        texts: Texts of files by their names.
    """
    every = list(_named(texts))
    used = {_only(each.path, texts) for each in every}
    said: set[tuple[int, str]] = set()
    for each in every:
        if not each.is_of_gpus or each.pattern == each.path or _any(each.path, texts):
            continue
        meant = [
            path
            for path in texts
            if posixpath.normpath(path) not in used
            and those_meant([_glob(each.pattern)])(posixpath.normpath(path))
        ]
        names = {posixpath.basename(path): path for path in meant}
        near = get_close_matches(posixpath.basename(each.path), names, cutoff=_CLOSE)
        if near and (id(each.document), each.path) not in said:
            said.add((id(each.document), each.path))
            yield _problem(each, near[0])


def _problem(named: _Named, near: str) -> Problem:
    then = "Argo CD passes it over" if named.may_lack else "Argo CD renders nothing"
    return Problem(
        NO_VALUES,
        Source("the ApplicationSet", named.document),
        named.place,
        f"For {named.cluster or 'one of its elements'} it takes values of {named.path}, which is "
        f"not there, and nothing takes those of {near}: {then}.",
        f"Call one as the other is called, if {near} was meant.",
        "warning" if named.may_lack else None,
    )


def _glob(pattern: str) -> str:
    """A pattern of files for one of templates."""
    return re.sub(r"\{\{.*?\}\}", "*", pattern)


def _only(tail: str, texts: Collection[str]) -> str | None:
    """The one file that a path from a top means."""
    found = _any(tail, texts)
    return found[0] if len(found) == 1 else None


def _any(tail: str, texts: Collection[str]) -> list[str]:
    paths = (posixpath.normpath(each) for each in texts)
    return [path for path in paths if f"/{path}".endswith(f"/{tail}")]


def _named(texts: Mapping[str, str]) -> Iterator[_Named]:
    for name, text in texts.items():
        if _SET.search(text):
            for document in read_texts(text, name).documents:
                if is_set(document.value):
                    yield from _of_set(document, texts)


def _of_set(document: Document, texts: Mapping[str, str]) -> Iterator[_Named]:
    def read(pattern: str) -> Iterator[dict[str, str]]:
        for path in sorted(texts):
            if those_meant([pattern])(posixpath.normpath(path)):
                for each in read_texts(texts[path], path).documents:
                    yield from (dict(flat(one)) for one in items(each.value) or [each.value])

    made = [
        each
        for generator in items(at(document.value, "spec", "generators"))
        for each in parameters(generator, read)
    ]
    where = [document.raw((*TEMPLATE, "destination", key)) for key in ("name", "server")]
    for place, source in sources_of(at(document.value, *TEMPLATE)):
        helm: FieldPath = (*TEMPLATE, *place, "helm")
        for index, _ in enumerate(items(at(source, "helm", "valueFiles"))):
            pattern = document.raw((*helm, "valueFiles", index)) or ""
            top = _TOP.match(pattern)
            for values in made if top else ():
                path = _known(pattern, values)
                if path:
                    yield _Named(
                        document,
                        (*helm, "valueFiles", index),
                        next((found for each in where if (found := _known(each, values))), ""),
                        posixpath.normpath(_TOP.sub("", path)),
                        posixpath.normpath(_TOP.sub("", pattern)),
                        chart_named(_known(document.raw((*TEMPLATE, *place, "chart")), values))
                        is not None,
                        at(source, "helm", "ignoreMissingValueFiles") is True,
                    )


def _known(given: Any, values: Mapping[str, str]) -> str:
    """A text with its parameters; empty where some are not known."""
    found = filled(given, values) or ""
    return "" if "{{" in found else found
