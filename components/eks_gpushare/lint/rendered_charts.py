"""Charts among the files, rendered by `helm template` as they are installed.

Helm runs on a copy, without plugins, without a cluster and without a network, for so long at most.
What it makes is judged once for each set of values, and is found in the template that it is from.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.kubernetes import eks_versions
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.rendered_lines import TemplateLines
from eks_gpushare.lint.scopes import CHART
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.files import GivenFile

_SECONDS: Final = 20
"""Longest that helm may take for one chart with one set of values."""
_MOST_CHARTS: Final = 40
_MOST_VALUES: Final = 8
"""Most sets of values of one chart."""
_MOST_BYTES: Final = 4 * 1024 * 1024
"""Largest chart that is copied, without what it depends on."""
_SOURCE: Final = re.compile(r"^# Source: [^/\n]+/(\S+)\s*$", re.MULTILINE)
_VALUES: Final = re.compile(r"(?:values[._-].+|.+[._-]values)\.ya?ml", re.IGNORECASE)
_ROOM: Final = re.compile(r"\.Values\.[A-Za-z0-9_.]*[rR]esources\b")
"""What containers ask for, filled in from values."""
_FILLED: Final = ".Values."
_LIBRARY: Final = re.compile(r"^type:\s*[\"']?library\b", re.MULTILINE)
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,51}[a-z0-9])?")
"""What helm takes for the name of a release."""
_SWITCHES: Final = (
    *("--skip-tests", "--dependency-update=false", "--disable-openapi-validation"),
    *("--kube-version", list(eks_versions())[-1]),
)
"""A cluster's version decides what charts write, and that of helm's own build differs."""


class ChartValues(NamedTuple):
    """A set of values that a chart is installed with."""

    name: str
    """How findings call it; empty of the chart's own."""
    files: tuple[str, ...] = ()
    """Files of values, over one another."""
    text: str = ""
    """Values that go over them."""
    release: str = "release"
    namespace: str = "default"


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """What helm makes of a chart with a set of values."""

    chart: str
    """Its folder."""
    values: ChartValues
    documents: tuple[Document, ...] = ()
    problem: str = ""
    """Why there are none, in helm's words."""

    @property
    def file(self) -> str:
        """The file that says what the chart is."""
        return posixpath.join(self.chart, CHART)

    @property
    def build(self) -> str:
        """The name of the result."""
        return f"{self.chart} with {self.values.name or 'its own values'}"


@dataclass(slots=True)
class RenderedCharts:
    """The charts of a call."""

    rendered: list[RenderedChart] = field(default_factory=list)
    templates: set[str] = field(default_factory=set)
    """Templates of charts that were rendered, so that nothing is said of them as files."""
    without_helm: str = ""
    """A chart, where there are some and no helm."""
    files: dict[str, frozenset[str]] = field(default_factory=dict)
    """The files of each chart, by its folder."""

    @property
    def contents(self) -> dict[str, frozenset[str]]:
        """The files of each result, by its name."""
        return {
            each.build: self.files[each.chart].union(each.values.files)
            for each in self.rendered
            if each.documents
        }

    @property
    def valued(self) -> frozenset[str]:
        """The files of values that something was made with."""
        made = [each for each in self.rendered if each.documents]
        return frozenset(
            file
            for each in made
            for file in (posixpath.join(each.chart, "values.yaml"), *each.values.files)
        )


def rendered_charts(files: Sequence[GivenFile]) -> RenderedCharts:
    """Render the charts among some files.

    Args:
        files: The files of the call.
    """
    given = {posixpath.normpath(file.name): file.text for file in files if not file.problem}
    given.pop(".", None)  # what is told of a folder as a whole, which may be a chart's
    folders = [posixpath.dirname(name) for name in given if posixpath.basename(name) == CHART]
    charts = [
        folder for folder in folders if not _is_within(folder, folders) and _is_own(given, folder)
    ]
    made = RenderedCharts()
    helm = shutil.which("helm")
    if not charts or helm is None:
        made.without_helm = posixpath.join(charts[0], CHART) if charts else ""
        return made
    named = dict(_named(given, charts))
    for chart in charts[:_MOST_CHARTS]:
        own = [name for name in given if name.startswith(posixpath.join(chart, ""))]
        made.files[chart] = frozenset(own)
        for values in _sets_of(chart, own, named.get(chart, [])):
            found = _rendered(helm, chart, values, given)
            made.rendered.append(found)
            if found.documents:
                made.templates |= {name for name in own if "/templates/" in f"/{name}"}
    return made


def _is_within(folder: str, folders: Iterable[str]) -> bool:
    """Whether a chart is one that another depends on."""
    return any(folder.startswith(posixpath.join(each, "charts/")) for each in folders)


def _is_own(given: Mapping[str, str], chart: str) -> bool:
    """Whether there is something to render: templates, and no library of them."""
    above = posixpath.join(chart, "templates/")
    has = any(name.startswith(above) for name in given) or Path(above).is_dir()
    return has and _LIBRARY.search(given[posixpath.join(chart, CHART)]) is None


def _sets_of(chart: str, own: Iterable[str], named: Sequence[ChartValues]) -> Iterator[ChartValues]:
    """The chart's own values, those of files beside them, and those that something names."""
    taken = {file for each in named for file in each.files}
    beside = [
        name
        for name in own
        if posixpath.dirname(name) == chart
        and _VALUES.fullmatch(posixpath.basename(name))
        and name not in taken
    ]
    found = [ChartValues(""), *named]
    found += [ChartValues(posixpath.basename(name), (name,)) for name in beside]
    yield from found[:_MOST_VALUES]


def _named(
    given: Mapping[str, str], charts: Sequence[str]
) -> Iterator[tuple[str, list[ChartValues]]]:
    """What Applications and HelmReleases install of these charts."""
    found: dict[str, list[ChartValues]] = {}
    for name, text in given.items():
        if "argoproj.io/" not in text and "helm.toolkit.fluxcd.io/" not in text:
            continue
        for document in read_texts(text, name).documents:
            for path, values in _installs(document.value):
                chart = next((each for each in charts if _is_path(each, path)), None)
                if chart is not None:
                    known = tuple(
                        file
                        for each in values.files
                        for file in [posixpath.normpath(posixpath.join(chart, each))]
                        if file in given
                    )
                    found.setdefault(chart, []).append(values._replace(files=known))
    yield from found.items()


def _is_path(chart: str, path: str) -> bool:
    """Whether a path from the top of a repository is that of a folder."""
    path = posixpath.normpath(path)
    return path != "." and (chart == path or chart.endswith(f"/{path}"))


def _installs(value: Any) -> Iterator[tuple[str, ChartValues]]:
    group, kind = str(at(value, "apiVersion")), at(value, "kind")
    name = str(at(value, "metadata", "name"))
    called = f"those of {kind} {name}"
    release = name if _NAME.fullmatch(name) else "release"
    if group.startswith("argoproj.io/") and kind == "Application":
        space = str(at(value, "spec", "destination", "namespace") or "default")
        for source in (at(value, "spec", "source"), *items(at(value, "spec", "sources"))):
            path, helm = at(source, "path"), at(source, "helm")
            if not isinstance(path, str):
                continue
            text = at(helm, "values")
            files = tuple(each for each in items(at(helm, "valueFiles")) if isinstance(each, str))
            own = text if isinstance(text, str) and "{{" not in text else ""
            yield path, ChartValues(called, files, own, release, space)
    if group.startswith("helm.toolkit.fluxcd.io/") and kind == "HelmRelease":
        path = at(value, "spec", "chart", "spec", "chart")
        given = at(value, "spec", "values")
        if isinstance(path, str) and "/" in path:
            import json

            plain = json.dumps(given, default=str) if isinstance(given, dict) else ""
            space = str(at(value, "metadata", "namespace") or "default")
            yield path, ChartValues(called, (), plain, release, space)


def _rendered(
    helm: str, chart: str, values: ChartValues, given: Mapping[str, str]
) -> RenderedChart:
    """A chart by a set of values, in a folder of its own that is gone afterwards."""
    import subprocess

    with tempfile.TemporaryDirectory() as room:
        copy = Path(room, "chart")
        try:
            _copied(chart, copy, given)
        except (OSError, ValueError) as error:
            return RenderedChart(chart, values, problem=str(error))
        options = []
        for number, text in enumerate((*(given[file] for file in values.files), values.text)):
            if text:
                file = Path(room, f"values-{number}.yaml")
                file.write_text(text, encoding="utf-8")
                options += ["--values", str(file)]
        names = (values.release, str(copy), "--namespace", values.namespace)
        try:
            done = subprocess.run(  # noqa: S603  (no shell; the chart is a copy)
                (helm, "template", *names, *_SWITCHES, *options),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                cwd=room,
                env=_environment(room),
            )
        except (OSError, subprocess.SubprocessError) as error:
            return RenderedChart(chart, values, problem=_first_line(str(error)))
    if done.returncode:
        return RenderedChart(chart, values, problem=_first_line(done.stderr.replace(room, "")))
    made = RenderedChart(chart, values)
    return replace(made, documents=tuple(_documents(made, done.stdout, given)))


def _environment(room: str) -> dict[str, str]:
    """That of helm: no plugins, no repositories, no cluster, no way out."""
    nowhere = "http://127.0.0.1:9"
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "SystemRoot") if key in os.environ}
    homes = {
        f"HELM_{name}": str(Path(room, name.lower()))
        for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS")
    }
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere)
    plain = {"HOME": room, "KUBECONFIG": str(Path(room, "none")), "HELM_NO_PLUGINS": "1"}
    return {**kept, **homes, **proxies, **plain}


def _copied(chart: str, copy: Path, given: Mapping[str, str]) -> None:
    """The chart as it is given, and as it lies there where files of it were not."""
    left = _MOST_BYTES
    top = Path(chart)
    if top.is_dir():
        for folder, inner, files in os.walk(top):
            inner[:] = [each for each in inner if not each.startswith(".")]
            for name in files:
                source = Path(folder, name)
                if source.is_symlink():
                    continue
                left -= source.stat().st_size
                if left < 0:
                    raise ValueError(f"the chart is larger than {_MOST_BYTES:,} bytes")
                target = copy / source.relative_to(top)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    above = posixpath.join(chart, "")
    for name, text in given.items():
        if name.startswith(above):
            target = copy / name.removeprefix(above)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    return (lines[0].strip() if lines else "it ended without a word")[:300]


def _documents(made: RenderedChart, output: str, given: Mapping[str, str]) -> Iterator[Document]:
    marks = [*_SOURCE.finditer(output)]
    ends = [*(mark.start() for mark in marks[1:]), len(output)]
    for mark, end in zip(marks, ends, strict=False):
        text = output[mark.end() : end]
        text = re.sub(r"\n---\s*\Z", "\n", text)
        name = posixpath.normpath(posixpath.join(made.chart, mark[1]))
        template = given.get(name, "")
        lines = TemplateLines(text, template)
        has_room = _ROOM.search(template) is not None
        filled = [_FILLED in line for line in template.split("\n")]
        for document in read_texts(text, name, place=lines.place).documents:
            value = document.value
            if not made.values.name:
                value = _to_be_said(document, value, (), filled, has_room=has_room)
            yield replace(document, value=value, build=made.build)


def _to_be_said(
    document: Document, value: Any, path: FieldPath, filled: Sequence[bool], *, has_room: bool
) -> Any:
    """An object in which what a chart's own values leave empty is not known.

    `clusterName: ""` and `resources: {}` are for those who install it to fill in.
    """
    if isinstance(value, list):
        return [
            _to_be_said(document, inner, (*path, index), filled, has_room=has_room)
            for index, inner in enumerate(value)
        ]
    if not isinstance(value, dict):
        line = document.position(path).line - 1 if value in ("", None) else -1
        return UNKNOWN if 0 <= line < len(filled) and filled[line] else value
    made = {
        key: _to_be_said(document, inner, (*path, key), filled, has_room=has_room)
        for key, inner in value.items()
    }
    for name in ("containers", "initContainers") if has_room else ():
        for container in items(made.get(name)):
            asked = container.get("resources") if isinstance(container, dict) else True
            if not asked or (isinstance(asked, dict) and not any(asked.values())):
                container["resources"] = UNKNOWN
    return made


def told_by_values(judgements: Iterable[Judgement], charts: RenderedCharts) -> list[Judgement]:
    """Judgements, those of charts once for all values that they hold for, which are then named.

    Args:
        judgements: What was found.
        charts: The charts.
    """
    builds = {chart.build: chart for chart in charts.rendered}
    kept: list[Judgement] = []
    grouped: dict[Any, list[Problem]] = {}
    for judgement in judgements:
        document = judgement.source.document
        build = builds.get(document.build) if isinstance(document, Document) else None
        if build is None or not isinstance(judgement, Problem):
            kept.append(judgement)
            continue
        path: FieldPath = (*document.at, *judgement.source.path, *judgement.path)
        key = judgement.rule.id, document.file, document.position(path), judgement.message
        grouped.setdefault(key, []).append(judgement)
    for found in grouped.values():
        names = [builds[each.source.document.build].values.name for each in found]
        first = found[0]
        if "" not in names:
            by = " and ".join(dict.fromkeys(names))
            first = replace(first, message=f"{first.message} With {by}.")
        kept.append(first)
    return kept
