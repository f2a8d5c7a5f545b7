"""Charts that a chart of one's own brings along: what its Chart.yaml says of their values.

Source: https://helm.sh/docs/topics/charts/#chart-dependencies
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.chart_ages import chart_ages
from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.catalog.chart_releases import chart_history
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.charts import chart_named, is_of_schema, release, within_values
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.files import read_file
from eks_gpushare.manifests.folders import folders_above
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_NAMES: Final = ("Chart.yaml", "Chart.yml", "requirements.yaml")
"""The last is of Helm 2."""
_OWN: Final = ("values.yaml", "values.yml")
"""What a chart is installed with if nothing else is said."""
_OF_VALUES: Final = re.compile(r"values[-_.A-Za-z0-9]*\.ya?ml")
_OF_YAML: Final = (".yaml", ".yml")
_OF_HELM: Final = frozenset(("templates", "charts", "crds"))
"""Folders of a chart in which no values for it lie."""
_SEVERAL: Final = 2
_VALUE: Final = re.compile(r"\.Values\.([A-Za-z0-9_]+)")
_EXACT: Final = "0123456789v"


class Subchart(NamedTuple):
    """A chart that says something of GPUs, as a dependency of another."""

    key: str
    """Of its values in those of the chart above."""
    chart: str
    version: Any
    """Empty where it is a range, of which any may be installed."""
    conditions: tuple[tuple[str, ...], ...]
    """Places in the values of the chart above; the first that is there decides."""
    tags: tuple[str, ...]
    is_decided: bool = True
    """Whether all files of values of the chart above agree on whether it is installed."""
    defaults: Mapping[str, Any] = MappingProxyType({})
    """The own values of the chart above, for what others do not say."""

    def is_on(self, values: Mapping[str, Any]) -> bool | None:
        """Whether values of the chart above install it; None where it is not known."""
        for place in self.conditions:
            given = at(values, *place)
            given = at(self.defaults, *place) if given is None else given
            if given is UNKNOWN:
                return None
            if isinstance(given, bool):
                return given
        named = [(at(values, "tags", tag), at(self.defaults, "tags", tag)) for tag in self.tags]
        tags = [default if given is None else given for given, default in named]
        known = [tag for tag in tags if isinstance(tag, bool)]
        return None if UNKNOWN in tags else any(known) if known else True

    def own(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Its own values, without the switches that are read by Helm."""
        switches = {place[1] for place in self.conditions if place[:1] == (self.key,)}
        return {key: each for key, each in values.items() if key not in switches}


def subcharts(files: Iterable[GivenFile]) -> dict[str, tuple[Subchart, ...]]:
    """The subcharts of each chart among some files, by its folder."""
    files = list(files)
    found: dict[str, tuple[Subchart, ...]] = {}
    for file in files:
        if posixpath.basename(file.name) not in _NAMES:
            continue
        for document in read_texts(file.text, file.name).documents:
            listed = tuple(_listed(document))
            folder = posixpath.dirname(posixpath.normpath(file.name))
            found[folder] = (*found.get(folder, ()), *listed)
    found = {folder: listed for folder, listed in found.items() if listed}
    own, others = _values_of(files, found)
    return {
        folder: tuple(
            _decided(each, own.get(folder, {}), others.get(folder, ())) for each in listed
        )
        for folder, listed in found.items()
    }


def _decided(
    subchart: Subchart, own: Mapping[str, Any], others: Iterable[Mapping[str, Any]]
) -> Subchart:
    subchart = subchart._replace(defaults=own)
    return subchart._replace(is_decided=len(set(map(subchart.is_on, (own, *others)))) < _SEVERAL)


def chart_above(charts: Container[str], file: str) -> str | None:
    """The folder of the chart that a file has values for: its own or, of an example, above.

    Args:
        charts: Folders of charts.
        file: A normal path.
    """
    folder, name = posixpath.split(file)
    if folder in charts:
        return folder if _OF_VALUES.fullmatch(name) else None
    for above in folders_above(folder):
        if above in charts:
            return above if name.endswith(_OF_YAML) else None
        if posixpath.basename(above) in _OF_HELM:
            return None
    return None


def _values_of(
    files: Iterable[GivenFile], charts: Container[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, list[Mapping[str, Any]]]]:
    """What charts can be installed with, by their folders: their own values, and those of files."""
    own: dict[str, Mapping[str, Any]] = {}
    others: dict[str, list[Mapping[str, Any]]] = {}
    for file in files:
        path = posixpath.normpath(file.name)
        chart = chart_above(charts, path)
        if chart is None:
            continue
        for document in read_texts(file.text, file.name).documents:
            if not isinstance(document.value, dict) or "apiVersion" in document.value:
                continue
            if posixpath.relpath(path, chart) in _OWN:
                own[chart] = document.value
            else:
                others.setdefault(chart, []).append(document.value)
    return own, others


def chart_versions(files: Iterable[GivenFile]) -> dict[str, str]:
    """Versions of copies of NVIDIA's charts that lie among some files, by their folders.

    One of a release with a word behind it, such as `0.6.0-own`, is a copy that somebody changed.
    """
    found: dict[str, str] = {}
    for file in files:
        if posixpath.basename(file.name) not in _NAMES[:2]:
            continue
        for document in read_texts(file.text, file.name).documents:
            version, name = at(document.value, "version"), chart_named(at(document.value, "name"))
            history = None if name is None else chart_history(name)
            if history is None or not isinstance(version, str):
                continue
            if version.removeprefix("v").partition("-")[0] in history.releases:
                found[posixpath.dirname(posixpath.normpath(file.name))] = version
    return found


def of_its_chart(versions: Mapping[str, str], file: str, item: Item) -> Item:
    """A chart's own values, as those of its version, and those that an application names.

    Args:
        versions: Those of charts by their folders, or by the path of a file of values.
        file: The file that it stands in.
        item: Any item.
    """
    folder, name = posixpath.split(posixpath.normpath(file))
    version = versions.get(posixpath.normpath(file))
    if version is None and name.startswith("values"):
        version = versions.get(folder)
    if version is None or not isinstance(item, Release):
        return item
    return item if item.version or item.source.path else replace(item, version=version)


def charts_of_ones_own(files: Iterable[GivenFile]) -> frozenset[str]:
    """Folders of charts that are not NVIDIA's, whatever they are called: values are theirs.

    So are those of a copy whose templates read what no published version does.
    """
    files = list(files)
    own: set[str] = set()
    of_nvidia: dict[str, GivenFile] = {}
    for file in files:
        if posixpath.basename(file.name) in _NAMES[:2]:
            folder = posixpath.dirname(posixpath.normpath(file.name))
            if any("nvidia" in line for line in _told(file.text.lower())):
                of_nvidia[folder] = file
            else:
                own.add(folder)
    read = _read_by_templates(files, of_nvidia) if of_nvidia else {}
    return frozenset(own.union(each for each in read if _is_changed(of_nvidia[each], read[each])))


def _read_by_templates(
    files: Iterable[GivenFile], charts: Collection[str]
) -> dict[str, frozenset[str]]:
    """The first keys of the values that templates of charts read, by the chart's folder."""
    # What they have in common is no manifest, and so not among the files.
    shared = [
        read_file(path.as_posix())
        for each in charts
        for path in sorted(Path(each, "templates").glob("*.tpl"))
    ]
    found: dict[str, frozenset[str]] = {}
    for file in (*files, *shared):
        folder, is_template, _ = posixpath.normpath(file.name).partition("/templates/")
        if is_template and folder in charts:
            found[folder] = found.get(folder, frozenset()) | set(_VALUE.findall(file.text))
    return found


def _is_changed(file: GivenFile, read: Iterable[str]) -> bool:
    """Whether templates read a value that no version of the chart of that name has.

    One of another name is of its own, whatever of NVIDIA's it installs.
    """
    for document in read_texts(file.text, file.name).documents:
        name = chart_named(at(document.value, "name"))
        if name is None:
            return True
        keys, ages = chart_keys(name), chart_ages(name)
        if keys is not None:
            unread = [(key,) for key in read if keys.kind((key,)) is None]
            return any(ages is None or not ages.had(place) for place in unread)
    return False


def _told(text: str) -> Iterable[str]:
    """What a Chart.yaml says of where the chart comes from."""
    below = False
    for line in text.splitlines():
        below = line.startswith(("sources:", "home:")) or (below and line[:1] in " -")
        if below:
            yield line


def _listed(document: Document) -> Iterable[Subchart]:
    for each in items(at(document.value, "dependencies")):
        name, version, alias = (at(each, key) for key in ("name", "version", "alias"))
        chart = chart_named(name)
        if chart is None or chart != name or _is_ones_own(at(each, "repository")):
            continue
        condition = at(each, "condition")
        yield Subchart(
            alias if isinstance(alias, str) and alias else chart,
            chart,
            version if isinstance(version, str) and _is_exact(version) else UNKNOWN,
            tuple(
                tuple(place.strip().split("."))
                for place in (condition.split(",") if isinstance(condition, str) else ())
                if place.strip()
            ),
            tuple(tag for tag in items(at(each, "tags")) if isinstance(tag, str)),
        )


def _is_ones_own(repository: Any) -> bool:
    """Whether a chart lies beside, which may be around the published one and have other values."""
    return isinstance(repository, str) and repository.startswith("file:")


def _is_exact(version: str) -> bool:
    parts = version.split(".")
    return len(parts) > 2 and version[:1] in _EXACT and not {"x", "X", "*"} & set(parts)  # noqa: PLR2004


class SubchartValuesReader:
    """Reads values of a chart that has others in it.

    Args:
        listed: Those that say something of GPUs.
    """

    name = "Helm values"

    def __init__(self, listed: Sequence[Subchart]) -> None:
        self._listed = listed

    def matches(self, document: Document) -> bool:
        """Whether it is a file of values, with some for one of them."""
        value = document.value
        if not isinstance(value, dict) or "apiVersion" in value or is_of_schema(document.file):
            return False
        return any(isinstance(value.get(each.key), dict) for each in self._listed)

    def read(self, document: Document) -> Read:
        """A release of each that is installed for all that is known.

        Where files of values do not agree on that, each is judged by itself: which of them a
        cluster gets is not known.
        """
        found: list[Release] = []
        inner: list[Document] = []
        for each in self._listed:
            values = document.value.get(each.key)
            if isinstance(values, dict) and each.is_on(document.value) is not False:
                path: FieldPath = (each.key,)
                own, version = each.own(values), each.version
                # Another's chart around the published one is often called as that one is. Some
                # have a value of their own name, as Ollama's.
                keys = chart_keys(each.chart)
                has_own = keys is None or keys.kind((each.chart,)) is not None
                if isinstance(own.get(each.chart), dict) and not has_own:
                    path, own, version = (*path, each.chart), own[each.chart], UNKNOWN
                here = document
                if not each.is_decided:
                    here = replace(document, alone=f"{document.file}:{each.key}")
                    found.append(release(document, each.chart, UNKNOWN, version=version, path=path))
                made = release(here, each.chart, own, version=version, path=path)
                found.append(made)
                inner += within_values(here, path)
        return Read(items=found, inner=inner)
