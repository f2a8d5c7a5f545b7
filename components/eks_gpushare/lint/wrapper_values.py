"""Values of a chart that only brings others along, a level above where Helm hands them on.

Sources: https://helm.sh/docs/chart_template_guide/subcharts_and_globals/: a subchart gets what is
below its name or alias, and `global`; values that `helm create` writes are those of
`pkg/chartutil/create.go` of helm/helm. November 2026.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.scopes import CHART
from eks_gpushare.manifests.application_sets import sources_of
from eks_gpushare.manifests.charts import OF_METRICS, documents_at
from eks_gpushare.manifests.files import read_file
from eks_gpushare.manifests.folders import Paths, ends_with
from eks_gpushare.manifests.readers.words import plain
from eks_gpushare.manifests.rules.chart_values import UNKNOWN_VALUE
from eks_gpushare.manifests.texts import read_texts
from eks_gpushare.rules.chart_types import wrong_types

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_keys import ChartKeys
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile
    from eks_gpushare.manifests.readers.subcharts import Subchart

_VALUES: Final = re.compile(r"(?:values(?:[._-].+)?|.+[._-]values)\.ya?ml", re.IGNORECASE)
_READ: Final = re.compile(r"\.Values\b(?:\.([A-Za-z_][A-Za-z0-9_]*))?")
_DEFINED: Final = re.compile(r"\bdefine\s+[\"`]([^\"`]+)[\"`]")
_INCLUDED: Final = re.compile(r"\b(?:include|template)\s+(?:[\"`]([^\"`]+)[\"`]|[($])")
_ANCHOR: Final = re.compile(r":[ \t]+&[A-Za-z0-9_-]+")
_OF_A_TOP: Final = re.compile(r"(?:\$[A-Za-z0-9_-]+)?/")
"""What begins a path from the top of a repository, of another source where that is named."""
_OTHER: Final = "*/"
"""What begins the name of a chart whose folder is not known, as it begins no path."""
_OF_HELM: Final = frozenset(("global", "tags"))
_BEGUN_WITH: Final = frozenset(
    (
        *("replicaCount", "image", "serviceAccount", "service", "ingress", "httpRoute"),
        *("autoscaling", "livenessProbe", "readinessProbe"),
    )
)
"""What `helm create` writes into a values.yaml, and people leave there: by itself it means none."""
_MOST_TEMPLATES: Final = 200


class _Wrapper(NamedTuple):
    """A chart around others."""

    folder: str
    name: str
    listed: Sequence[Subchart]
    names: frozenset[str]
    """Of its values, those that are another chart's, a switch of one or Helm's own."""
    read: frozenset[str]
    """Values that its own templates read."""
    keys: frozenset[str]
    """Below what the values of the charts that it brings stand: their aliases, or else names."""


def values_above(
    files: Sequence[GivenFile],
    subcharts: Mapping[str, Sequence[Subchart]],
    passed: Collection[str],
) -> Iterator[Problem]:
    """Those in files beside a chart, and in what installs the chart from its folder.

    Args:
        files: The files of the call.
        subcharts: Charts that a chart brings along, by its folder.
        passed: Folders of copies of published charts, and files of values that are named for one.
    """
    if not subcharts:
        return
    wrappers = {
        each.folder: each
        for each in _wrappers(files, subcharts)
        if each.folder not in passed or each.name in {one.chart for one in each.listed}
    }
    for file in files if wrappers else ():
        path = posixpath.normpath(file.name)
        folder, name = posixpath.split(path)
        if folder in wrappers and _VALUES.fullmatch(name):
            for document in () if path in passed else read_texts(file.text, file.name).documents:
                yield from _told(wrappers[folder], document, document.value)
        elif "argoproj.io/" in file.text or "helm.toolkit.fluxcd.io/" in file.text:
            for document in read_texts(file.text, file.name).documents:
                yield from _installed(wrappers, document)
    yield from _in_files(wrappers, files, passed)


def _wrappers(
    files: Sequence[GivenFile], subcharts: Mapping[str, Sequence[Subchart]]
) -> Iterator[_Wrapper]:
    """Charts of which it is known what their own templates read."""
    for file in files:
        path = posixpath.normpath(file.name)
        folder = posixpath.dirname(path)
        if posixpath.basename(path) != CHART or folder not in subcharts:
            continue
        documents = read_texts(file.text, file.name).documents
        value = documents[0].value if len(documents) == 1 else None
        others = items(at(value, "dependencies"))
        names = [(at(each, "name"), at(each, "alias")) for each in others]
        if not names or not all(isinstance(name, str) for name, _ in names):
            continue  # those of Helm 2, or not known
        read = _read_in(folder, files)
        if read is None or at(value, "type") == "library":
            continue
        called = {each for pair in names for each in pair if isinstance(each, str)}
        called |= {
            place.strip().partition(".")[0]
            for each in others
            for place in str(at(each, "condition") or "").split(",")
        }
        known = [each for each in subcharts[folder] if each.chart not in OF_METRICS]
        keys = frozenset(alias if isinstance(alias, str) else str(name) for name, alias in names)
        yield _Wrapper(folder, str(at(value, "name")), known, _OF_HELM | called, read, keys)


def _read_in(folder: str, files: Iterable[GivenFile]) -> frozenset[str] | None:
    """Values that the templates of a chart read; None where all of them or others' may be."""
    above, within = posixpath.join(folder, ""), posixpath.join(folder, "charts", "")
    given = {posixpath.normpath(each.name): each for each in files}
    own = [
        each for path, each in given.items() if path.startswith(above) and within not in f"{path}/"
    ]
    try:
        there = [
            str(each)
            for each in sorted(Path(folder, "templates").rglob("*"))[: _MOST_TEMPLATES + 1]
            if each.is_file() and posixpath.normpath(each) not in given
        ]
    except OSError:
        return None
    own += [read_file(each) for each in there]
    text = "\n".join(each.text for each in own)
    if len(there) > _MOST_TEMPLATES or any(each.problem or each.note for each in own):
        return None
    included = {found[1] for found in _INCLUDED.finditer(text)}
    read = {found[1] for found in _READ.finditer(text)}
    if ".Files" in text or None in read or not included <= set(_DEFINED.findall(text)):
        return None
    return frozenset(read)


def _installed(wrappers: Mapping[str, _Wrapper], document: Document) -> Iterator[Problem]:
    """What an Application or a HelmRelease gives a chart in a folder."""
    for place, folder, _ in _wrapped(wrappers, document):
        wrapper = wrappers.get(folder)
        for key in ("values", "valuesObject") if wrapper else ():
            given = at(document.value, *place, key)
            if wrapper and isinstance(given, dict):
                yield from _told(wrapper, document, given, (*place, key))
            elif wrapper and isinstance(given, str):
                for inner in documents_at(document, (*place, key), given):
                    yield from _told(wrapper, inner, inner.value)


def _wrapped(
    wrappers: Mapping[str, _Wrapper], document: Document
) -> Iterator[tuple[FieldPath, str, list[str]]]:
    """What installs a chart, where it says of values, and the names of files of such.

    The chart is the folder of one of one's own, or else whatever it is called by. Of several that a
    path may mean, none is meant.
    """
    value = document.value
    found: list[tuple[FieldPath, Any, FieldPath, bool]] = []
    above = ""
    if at(value, "kind") == "Application":
        for place, each in sources_of(at(value, "spec")):
            helm = ("spec", *place, "helm")
            path = at(each, "path")
            chart = path or at(each, "chart")
            found.append((helm, chart, (*helm, "valueFiles"), not path))
    elif at(value, "kind") == "HelmRelease":
        spec = ("spec", "chart", "spec")
        by_name = at(value, *spec, "sourceRef", "kind") == "HelmRepository"
        found.append((("spec",), at(value, *spec, "chart"), (*spec, "valuesFiles"), by_name))
        above = "/"  # Flux takes all of them from the top of the source
    for place, path, files, by_name in found:
        named = posixpath.normpath(path.strip("/")) if isinstance(path, str) and path else "."
        folders = [
            folder
            for folder, each in wrappers.items()
            if named != "." and (each.name == named if by_name else ends_with(folder, named))
        ]
        names = [document.raw((*files, index)) for index, _ in enumerate(items(at(value, *files)))]
        chart = folders[0] if len(folders) == 1 else f"{_OTHER}{named}"
        yield place, chart, [f"{above}{each}" for each in names if each]


def _in_files(
    wrappers: Mapping[str, _Wrapper], files: Sequence[GivenFile], passed: Collection[str]
) -> Iterator[Problem]:
    """Files of values outside of a chart's folder that what installs it, and no other, names.

    Argo CD takes these from the folder, or from the top of a repository, be it another source's:
    https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files.
    """
    given = {posixpath.normpath(each.name): each for each in files}
    said = {path for path in given if posixpath.dirname(path) in wrappers} | set(passed)
    paths = Paths(given)
    charts: dict[str, set[str]] = {}
    for file in files if wrappers else ():
        if "valueFiles" not in file.text and "valuesFiles" not in file.text:
            continue
        for document in read_texts(file.text, file.name).documents:
            for _, chart, names in _wrapped(wrappers, document):
                for path in _meant(chart, names, paths):
                    charts.setdefault(path, set()).add(chart)
    for path, several in charts.items():
        wrapper = wrappers.get(min(several)) if len(several) == 1 else None
        if wrapper is not None and path in given and path not in said:
            for each in read_texts(given[path].text, given[path].name).documents:
                yield from _told(wrapper, each, each.value)


def _meant(chart: str, names: Iterable[str], paths: Paths) -> Iterator[str]:
    """The files that names mean: from the chart's folder, or else from the top of a repository."""
    for name in names:
        top = _OF_A_TOP.match(name)
        if top is None and not chart.startswith(_OTHER):
            yield posixpath.normpath(posixpath.join(chart, name))
        else:
            tail = name[top.end() :] if top else posixpath.join(chart.removeprefix(_OTHER), name)
            meant = paths.ending_with(posixpath.normpath(tail))
            yield from meant if len(meant) == 1 else ()


def _told(
    wrapper: _Wrapper, document: Document, values: Any, above: tuple[str | int, ...] = ()
) -> Iterator[Problem]:
    """What is told once of all values that are for the same chart."""
    text = getattr(document.text, "text", "")
    if not isinstance(values, dict) or "apiVersion" in values or _ANCHOR.search(text):
        return
    yield from _by_another_name(wrapper, document, values, above)
    said: set[str] = set()
    for each in wrapper.listed:
        keys = chart_keys(each.chart)
        if keys is None or each.is_on(values) is False:
            continue
        found = [
            key
            for key, value in values.items()
            if key not in said | wrapper.names | wrapper.read
            and at(values, each.key, key) is None
            and _is_meant(keys, key, value)
        ]
        if not set(found) <= _BEGUN_WITH:
            said.update(found)
            verb, them = ("stands", "it") if len(found) == 1 else ("stand", "them")
            words = " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))
            yield Problem(
                UNKNOWN_VALUE,
                Source("the values", document),
                (*above, found[0]),
                f"{words} {verb} beside {each.key}, and Helm hands {each.chart} only what "
                f"is below {each.key}: no template of {wrapper.name} reads {them}.",
                f"Put {them} below {each.key}.",
            )


def _by_another_name(
    wrapper: _Wrapper, document: Document, values: dict[str, Any], above: tuple[str | int, ...]
) -> Iterator[Problem]:
    """Blocks that are called as a chart is, and not as its values are.

    Source: https://helm.sh/docs/topics/charts/#alias-field-in-dependencies.
    """
    for each in wrapper.listed:
        called = {plain(each.chart), plain(each.key)}
        switches = {place[0] for place in each.conditions}
        for key, given in values.items():
            is_dead = key not in wrapper.keys | wrapper.read and plain(str(key)) in called
            known = isinstance(given, dict) and (key not in switches or set(given) - {"enabled"})
            if is_dead and known and given:
                yield Problem(
                    UNKNOWN_VALUE,
                    Source("the values", document),
                    (*above, key),
                    f"{wrapper.name} brings {each.chart} along as {each.key}, and Helm hands it "
                    f"only what is below that: nothing reads {key}.",
                    f"Write {each.key} in place of {key}.",
                )


def _is_meant(keys: ChartKeys, key: Any, value: Any) -> bool:
    """Whether it is a value that a chart has at its top, and what it is there."""
    kind = keys.kind((key,)) if isinstance(key, str) else None
    if kind in {None, "idle"} or value in (None, "", [], {}):
        return False
    if kind == "block":
        inner = value if isinstance(value, dict) else {"": None}
        if not all(keys.kind((key, str(each))) for each in inner):
            return False
    return not list(wrong_types({key: value}, keys))
