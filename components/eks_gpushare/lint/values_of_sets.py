"""Files of values that the applications of an ApplicationSet take, each by its own parameters.

Files that go to several clusters, one each, are alternatives. A name that comes out of parameters
and is no file's is told where another file was meant: Argo CD passes such over where
`ignoreMissingValueFiles` is set, https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files.
"""

from __future__ import annotations

import posixpath
import re
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at, has_unknown, items, pairs
from eks_gpushare.lint.rules.files import NO_VALUES
from eks_gpushare.manifests.application_sets import (
    MOST,
    TEMPLATE,
    filled,
    flat,
    is_set,
    parameters,
    sources_of,
)
from eks_gpushare.manifests.charts import chart_named
from eks_gpushare.manifests.folders import Paths, those_meant
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_TOP: Final = re.compile(r"^\$[A-Za-z0-9_-]+/")
"""What begins a path from the top of another source's repository."""
_BEGINNING: Final = re.compile(r"^(?:\$[A-Za-z0-9_-]+/|/|\.{1,2}/)*")
"""What begins a path from wherever it is."""
_INSTALLS: Final = re.compile(r"kind:\s*[\"']?(?:Application|ApplicationSet|HelmRelease)\b")
_SET: Final = re.compile(r"kind:\s*[\"']?ApplicationSet\b")
_OF_CLUSTER: Final = re.compile(r"argocd\.argoproj\.io/secret-type[\"']?:\s*[\"']?cluster\b")
"""A label of the Secrets that tell Argo CD of clusters."""
_LABELS: Final = "metadata.labels."
_FURTHER: Final = ("values", "valuesObject", "parameters", "fileParameters")
"""By which an application has values beside those of files."""
_CLOSE: Final = 0.8
_DIGITS: Final = re.compile(r"[0-9]+")
_BETWEEN: Final = re.compile(r"[/._-]+")
_MOST_MISSING: Final = 20
"""Names of one pattern that are no file's, beyond which it is usual that there is none."""
_MOST_SPARE: Final = 200
"""Files of one pattern that nothing takes, beyond which something else does."""


class _Named(NamedTuple):
    """A file of values that one application of a set takes."""

    document: Document
    place: FieldPath
    cluster: str
    """Where the application goes; empty where that is not known."""
    path: str
    """From the top of a repository; empty where that is not known."""
    pattern: str
    """What the set calls it."""
    is_of_gpus: bool
    """Whether it is for a chart that is known."""
    may_lack: bool
    """Whether Argo CD passes it over if it is not there."""
    is_all: bool
    """Whether files alone have values of it."""
    number: tuple[int, int]
    """The same of all files that one application takes of one source."""


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
            if _is_of_values(place) or place[-3:-2] == ("files",):
                found.append(_BEGINNING.sub("", _glob(document.raw(place) or "")))
    return list(dict.fromkeys(filter(None, found)))


def _is_of_values(place: FieldPath) -> bool:
    return place[-2:-1] in (("valueFiles",), ("valuesFiles",))


def _texts(value: Any, above: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """All scalars with their places."""
    inner = pairs(value) if isinstance(value, dict) else enumerate(items(value))
    if isinstance(value, dict | list):
        for key, each in inner:
            yield from _texts(each, (*above, key))
    else:
        yield above, value


def tells_of_cluster(text: str) -> bool:
    """Whether a text may have a Secret that tells Argo CD of a cluster."""
    return "secret-type" in text and _OF_CLUSTER.search(text) is not None


def clusters_of_values(texts: Mapping[str, str]) -> dict[str, str]:
    """Files that sets give to one cluster alone each, with how the set calls that.

    Args:
        texts: Texts of files by their names.
    """
    found: dict[str, set[str]] = {}
    files = SetFiles(texts)
    for each in files.named:
        path = files.only(each.path)
        if path is not None:
            found.setdefault(path, set()).add(each.cluster)
    return {path: min(of) for path, of in found.items() if len(of) == 1 and "" not in of}


def layers_of_sets(files: SetFiles) -> list[tuple[str, ...]]:
    """The files of values that applications of sets take, the later over the earlier.

    Of those alone of which all that are there are known, and that write no values besides.

    Args:
        files: The files of a call.
    """
    taken: dict[tuple[int, ...], list[_Named]] = {}
    for each in files.named:
        taken.setdefault((id(each.document), *each.number), []).append(each)
    found = (_layers(each, files) for each in taken.values())
    return list(filter(None, dict.fromkeys(found)))


def _layers(named: Sequence[_Named], files: SetFiles) -> tuple[str, ...]:
    """The normal paths of the files that one application takes; none where not all are known."""
    paths = [files.only(each.path) if each.path else None for each in named]
    lacking = (
        not each.path or not each.may_lack or files.paths.ending_with(each.path)
        for each, path in zip(named, paths, strict=True)
        if path is None
    )
    is_alone = all(each.is_of_gpus and each.is_all for each in named)
    return tuple(filter(None, paths)) if is_alone and not any(lacking) else ()


def missing_of_sets(files: SetFiles, taken: Collection[str] = ()) -> Iterator[Problem]:
    """Names that parameters make of no file, where one is there that nothing else means.

    Args:
        files: The files of a call.
        taken: Normal paths of files that something else is known to take.
    """
    every = files.named
    used = {path for each in every if each.path for path in files.paths.ending_with(each.path)}
    used.update(taken)
    missing: dict[tuple[int, str], dict[str, _Named]] = {}
    for each in every:
        is_made = each.path not in {"", each.pattern}
        if is_made and each.is_of_gpus and not files.paths.ending_with(each.path):
            missing.setdefault((id(each.document), each.pattern), {}).setdefault(each.path, each)
    of_others = [_glob(each.pattern) for each in every if not each.path]
    is_of_others = those_meant([*of_others, *_of_no_set(files.texts)] if missing else ())
    for (_, pattern), of_pattern in missing.items():
        if len(of_pattern) > _MOST_MISSING:
            continue
        spare = set(files.paths.meant_by([_glob(pattern)])) - used
        parts = [path.split("/") for path in sorted(spare) if not is_of_others(path)]
        for path, each in of_pattern.items() if len(parts) <= _MOST_SPARE else ():
            tails = {"/".join(names[-1 - path.count("/") :]) for names in parts}
            near = [tail for tail in tails if _is_near(path, tail)]
            if len(near) == 1:
                yield _problem(each, near[0])


def _of_no_set(texts: Mapping[str, str]) -> Iterator[str]:
    """Files of values that applications and releases name each by themselves, or patterns of such.

    Those of a set are known by its parameters.
    """
    for name, text in texts.items():
        if ("valueFiles" in text or "valuesFiles" in text) and _INSTALLS.search(text):
            for document in read_texts(text, name).documents:
                for place, _ in () if is_set(document.value) else _texts(document.value, ()):
                    if _is_of_values(place):
                        yield _BEGINNING.sub("", _glob(document.raw(place) or ""))


def _is_near(name: str, other: str) -> bool:
    """Whether one is written for the other, and not one of several that are called alike.

    That are those of a number, as `eu-1` and `eu-2`, and of one word, as `prod-eu` and `prod-us`;
    but `eu-prod` and `prod-eu` have the same.
    """
    if _DIGITS.findall(name) != _DIGITS.findall(other):
        return False
    words, others = _BETWEEN.split(name.lower()), _BETWEEN.split(other.lower())
    if len(words) != len(others):
        return "".join(words) == "".join(others)
    if sorted(words) == sorted(others):
        return True
    pairs_of_words = zip(words, others, strict=True)
    return all(SequenceMatcher(None, *each).ratio() >= _CLOSE for each in pairs_of_words)


def _problem(named: _Named, tail: str) -> Problem:
    folder, name = posixpath.split(tail)
    near = name if folder == posixpath.dirname(named.path) else tail
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


class SetFiles:
    """Files of a call by their normal paths, and what of them sets of applications take.

    Args:
        texts: Texts of files by their names.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._names = {posixpath.normpath(each): each for each in texts}
        self.paths = Paths(self._names)

    @cached_property
    def named(self) -> list[_Named]:
        """The files of values that templates of sets name."""
        return list(_named(self))

    def only(self, tail: str) -> str | None:
        """The one file that a path from a top means."""
        found = self.paths.ending_with(tail)
        return found[0] if len(found) == 1 else None

    def said(self, pattern: str) -> list[dict[str, str]]:
        """What the files that a pattern means say; nothing where these are too many."""
        meant = sorted(self.paths.meant_by([pattern]))
        return [
            dict(flat(one))
            for path in (meant if len(meant) <= MOST else ())
            for each in read_texts(self.texts[self._names[path]], self._names[path]).documents
            for one in items(each.value) or [each.value]
        ]

    def chosen(self, clusters: Any) -> list[dict[str, str]]:
        """Parameters of the clusters that a generator chooses by labels, whose Secrets are here.

        https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Cluster/
        """
        labels = at(clusters, "selector", "matchLabels")
        if not pairs(labels) or has_unknown(clusters) or at(clusters, "values"):
            return []
        others = [key for key, _ in pairs(at(clusters, "selector")) if key != "matchLabels"]
        wanted = {f"{_LABELS}{key}": str(value) for key, value in pairs(labels)}
        every = () if others else self._clusters
        return [each for each in every if wanted.items() <= each.items()]

    @cached_property
    def _clusters(self) -> list[dict[str, str]]:
        """Parameters of all clusters that Secrets tell Argo CD of."""
        return [
            {
                **dict(flat(at(document.value, "metadata", "labels"), _LABELS)),
                **dict(flat(at(document.value, "stringData"))),
            }
            for name, text in self.texts.items()
            if tells_of_cluster(text)
            for document in read_texts(text, name).documents
            if at(document.value, "kind") == "Secret"
        ]


def _named(files: SetFiles) -> Iterator[_Named]:
    # Most texts name none, which is told in a tenth of the time.
    texts = {name: text for name, text in files.texts.items() if "ApplicationSet" in text}
    for name, text in texts.items():
        if _SET.search(text):
            for document in read_texts(text, name).documents:
                if is_set(document.value):
                    yield from _of_set(document, files)


def _of_set(document: Document, files: SetFiles) -> Iterator[_Named]:
    made = [
        each
        for generator in items(at(document.value, "spec", "generators"))
        for each in parameters(generator, files.said, files.chosen)
    ]
    where = [document.raw((*TEMPLATE, "destination", key)) for key in ("name", "server")]
    patched = at(document.value, "spec", "templatePatch")
    for order, (place, source) in enumerate(sources_of(at(document.value, *TEMPLATE))):
        helm: FieldPath = (*TEMPLATE, *place, "helm")
        further = any(at(source, "helm", key) for key in _FURTHER)
        for index, _ in enumerate(items(at(source, "helm", "valueFiles"))):
            pattern = document.raw((*helm, "valueFiles", index)) or ""
            is_from_top = _TOP.match(pattern) is not None
            for number, values in enumerate(made or [{}]):
                path = _known(pattern, values) if is_from_top else ""
                yield _Named(
                    document,
                    (*helm, "valueFiles", index),
                    next((found for each in where if (found := _known(each, values))), ""),
                    posixpath.normpath(_TOP.sub("", path)) if path else "",
                    posixpath.normpath(_BEGINNING.sub("", pattern)),
                    chart_named(_known(document.raw((*TEMPLATE, *place, "chart")), values))
                    is not None,
                    at(source, "helm", "ignoreMissingValueFiles") is True,
                    not further and not patched,
                    (order, number),
                )


def _known(given: Any, values: Mapping[str, str]) -> str:
    """A text with its parameters; empty where some are not known."""
    found = filled(given, values) or ""
    return "" if "{{" in found else found
