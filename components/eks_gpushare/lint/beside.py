"""Files of values that something names and for which charts, and manifests that programs apply.

Of values that commands, Helmfile and programs of Pulumi name, what is not among the files of the
call is read where it lies; of those that applications of Argo CD name it is not.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN, is_guide
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.readers.markdown import MarkdownReader, blocks
from eks_gpushare.lint.readers.pulumi_yaml import is_program, manifests_named, releases_named
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.shell.helm import chart_and_files
from eks_gpushare.lint.shell.named_files import named_from
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS
from eks_gpushare.lint.tool_releases import may_install, releases_of_tools
from eks_gpushare.manifests.application_sets import (
    TEMPLATE,
    applications_of,
    is_set,
    name_of,
    sources_of,
)
from eks_gpushare.manifests.charts import CHARTS, chart_named
from eks_gpushare.manifests.files import read_file
from eks_gpushare.manifests.folders import Paths, ends_with
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.readers.helmfile import FURTHER_VALUES, is_helmfile
from eks_gpushare.manifests.shell.words import commands
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.lint.shell.helm import Installed
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.files import GivenFile

_NAMES_VALUES: Final = re.compile(r"values|-\S{0,20}?[f$`]")
"""Of every text that names some, whatever its shell makes of quotes and variables."""
_MOST: Final = 50
"""Most files that are read besides those of the call."""
_YAML: Final = (".yaml", ".yml", ".json", ".yaml.gotmpl", ".yml.gotmpl")
_HELMFILE: Final = (".yaml", ".yml", ".gotmpl")
_OF_A_SOURCE: Final = re.compile(
    r"(?:^[ \t]*-[ \t]+|[\[,]\s*)[\"']?\$(?P<ref>[A-Za-z0-9_-]+)/(?P<path>[A-Za-z0-9_./-]+)",
    re.MULTILINE,
)
_OF_TOP: Final = re.compile(r"\$(?P<ref>[A-Za-z0-9_-]+)/(?P<path>.+)")
_OF_OBJECT: Final = (
    re.compile(r"^apiVersion:", re.MULTILINE),
    re.compile(r"^kind:", re.MULTILINE),
)
_OF_PULUMI: Final = re.compile(r"type:[ ]+[\"']?kubernetes:(?:yaml|helm)")
_COMMENT: Final = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


class Install(NamedTuple):
    """What is installed with values of files."""

    file: str
    """The path of the file that says so."""
    name: str
    """The release's, where there may be several; else empty."""
    values: tuple[str, ...]
    """Paths of the files of values; the later go over the earlier."""


class NamedValues(NamedTuple):
    """Files of values that something names."""

    charts: dict[str, str | None]
    """By their paths, each with the chart that it is for; None if for several."""
    by_file: dict[str, list[str]]
    """Their paths by the file that names them."""
    versions: dict[str, str]
    """The charts' versions by their paths, of those that an application or Helmfile names."""
    installs: list[Install]
    """Applications, releases of Helmfile and commands all whose files of values are there."""


def named_values(files: Sequence[GivenFile]) -> NamedValues:
    """Files of values that commands, Helmfile and applications of some files name.

    Those of a command are looked for in the folder of the script that names them, in that of the
    call, and in those above a script; those of Helmfile lie beside its file.

    Args:
        files: The files of the call.
    """
    known = {posixpath.normpath(file.name) for file in files}
    objects = {posixpath.normpath(file.name) for file in files if _is_object(file)}
    of_values = known - objects
    from_tops = Paths(of_values)
    found: dict[str, str | None] = {}
    by_file = {name: paths for file in files for name, paths in _applied(file, known)}
    versions: dict[str, str] = {}
    installs: list[Install] = []
    for file in files:
        whence = posixpath.normpath(file.name)
        beside = posixpath.dirname(file.name)
        named_by: list[tuple[str, str | None]] = []
        for command in _installed(file):
            paths = list(_of_command(command.files, file.name, known, from_tops))
            named_by += [(str(command.chart), path) for path in paths]
            if command.is_all and len(set(paths)) == len(command.files) > 0:
                installs.append(Install(whence, command.name, tuple(paths)))
        several = list(_of_applications(file))
        there: list[str] = []
        for chart, tail, version, _ in several:
            # The path is from the top of a repository, which may lie anywhere in what is given.
            paths = from_tops.ending_with(tail)
            there += paths if len(paths) == 1 else []
            named_by += [(chart, path) for path in paths if len(paths) == 1]
            versions |= dict.fromkeys(paths, version) if version and len(paths) == 1 else {}
        if there and len(set(there)) == len(several) == several[0][3]:
            installs.append(Install(whence, "", tuple(there)))
        for each in _of_releases(file):
            paths = _paths_of(each, beside, of_values if each.of_top else known)
            if each.is_all and paths and len(set(paths)) == len(each.files):
                named_by += [(each.chart, path) for path in paths]
                versions |= dict.fromkeys(paths, each.version) if each.version else {}
                installs.append(Install(whence, each.name, tuple(paths)))
            else:  # of values with others over or below them it is not known what holds
                by_file.setdefault(whence, []).extend(paths)
        for chart, path in named_by:
            if path is not None:
                found[path] = chart if found.get(path, chart) == chart else None
                by_file.setdefault(whence, []).append(path)
    return NamedValues(found, by_file, versions, installs)


def _of_command(
    files: Iterable[str], named_by: str, known: set[str], of_values: Paths
) -> Iterator[str]:
    """The paths of files of values that a command names."""
    beside = posixpath.dirname(named_by)
    for name in files:
        path = None if GAP in name else _where((beside, ""), name, known)
        if path is None:
            path = named_from(posixpath.normpath(named_by), name, of_values)
        if path is not None:
            yield path


def _is_object(file: GivenFile) -> bool:
    return all(each.search(file.text) for each in _OF_OBJECT)


def values_named_by(file: GivenFile) -> Iterator[str]:
    """Files of values that the commands or releases of a file name, as they name them."""
    for installed in _installed(file):
        yield from installed.files
    for each in _of_releases(file):
        yield from each.files


def values_of_applications(file: GivenFile) -> Iterator[str]:
    """Files of values that applications of a file name, from the top of a repository."""
    for _, tail, _, _ in _of_applications(file):
        yield tail


def beside(files: Sequence[GivenFile], named: dict[str, str | None]) -> Iterator[GivenFile]:
    """Those of the named files that are not among the files of the call."""
    known = {posixpath.normpath(file.name) for file in files}
    for path in [path for path in named if path not in known][:_MOST]:
        yield read_file(path)


def _installed(file: GivenFile) -> Iterator[Installed]:
    """What a file's commands install of charts of GPUs, by files that they do not write."""
    if file.name == STDIN or "helm" not in file.text or len(file.text) > MAX_CHARACTERS:
        return
    if _NAMES_VALUES.search(file.text) is None:
        return  # as most do, which are then not taken apart twice
    if ShellReader().matches(file.name, file.text):
        texts = [ShellReader().script(file.name, file.text)]
    elif MarkdownReader().matches(file.name, file.text):
        texts = [block.text for block in blocks(file.text) if block.kind == "shell"]
    else:
        return
    variables: dict[str, str] = {}
    written: set[str] = set()
    for text in texts:
        for command in commands(text, variables):
            written |= {command.writes.removeprefix("./")} if command.writes else set()
            if not command.words or command.words[0].text.rpartition("/")[2] != "helm":
                continue
            made = chart_and_files(command.words)
            if made.chart in CHARTS:
                files = [name for name in made.files if name.removeprefix("./") not in written]
                whole = made.is_all and len(files) == len(made.files)
                yield made._replace(files=tuple(files), is_all=whole)


def _of_applications(file: GivenFile) -> Iterator[tuple[str, str, str, int]]:
    """Charts that applications install, each file of another source's, version, and count of files.

    A source with a `ref` gives a name to the top of its repository, and `$name/` begins a path
    there, https://argo-cd.readthedocs.io/en/stable/user-guide/multiple_sources/.
    """
    if "valueFiles" not in file.text or "$" not in file.text or "argoproj.io/" not in file.text:
        return
    for document in read_texts(file.text, file.name).documents:
        yield from _of_application(document)


def _of_application(document: Document) -> Iterator[tuple[str, str, str, int]]:
    """The same of one document of a file."""
    sources = items(at(document.value, "spec", "sources"))
    installed = [source for source in sources if items(at(source, "helm", "valueFiles"))]
    chart = chart_named(at(installed[0], "chart")) if len(installed) == 1 else None
    if chart is None:
        return  # or it is not told which of them a file is for
    version = at(installed[0], "targetRevision")
    count = len(items(at(installed[0], "helm", "valueFiles")))
    refs = [at(source, "ref") for source in sources]
    # Each is read as a placeholder.
    text = document.text.text if document.text is not None else ""
    for found in _OF_A_SOURCE.finditer(_COMMENT.sub("", text)):
        path = posixpath.normpath(found["path"])
        if "/" in path and found["ref"] in refs:
            yield chart, path, version if isinstance(version, str) else "", count


class _ReleaseFiles(NamedTuple):
    """Files of values of one release; the later go over the earlier."""

    chart: str
    name: str
    version: str
    files: tuple[str, ...]
    is_all: bool
    """Whether these, and what is written after them, are all values of it."""
    of_top: bool = False
    """Whether they are named from the top of a repository, which may lie anywhere."""


def _paths_of(each: _ReleaseFiles, folder: str, known: set[str]) -> list[str]:
    """The files of a release that are there, by the folder of what names them."""
    if not each.of_top:
        return [path for name in each.files if (path := _where((folder,), name, known))]
    found = [[path for path in known if ends_with(path, name)] for name in each.files]
    return [paths[0] for paths in found if len(paths) == 1]


def _of_releases(file: GivenFile) -> Iterator[_ReleaseFiles]:
    """Releases with files, of Helmfile, other tools, sets and programs of Pulumi in YAML."""
    yield from _of_helmfile(file)
    yield from _of_tools(file)
    yield from _of_sets(file)
    for value in _programs(file):
        for given, files, is_all in releases_named(value):
            chart = chart_named(at(given, "chart"))
            told = [at(given, key) for key in ("name", "version")]
            if chart:
                name, version = (each if isinstance(each, str) else "" for each in told)
                yield _ReleaseFiles(chart, name, version, files, is_all)


def _of_sets(file: GivenFile) -> Iterator[_ReleaseFiles]:
    """What applications of a set install by its parameters, with files of another source each."""
    if "valueFiles" not in file.text or "ApplicationSet" not in file.text or is_guide(file.name):
        return
    for document in filter(_is_of_set, read_texts(file.text, file.name).documents):
        yield from _of_whole_set(document)
        for made in applications_of(document):
            for place, source in sources_of(at(made.value, *TEMPLATE)):
                listed = items(at(source, "helm", "valueFiles"))
                tops = filter(None, (_OF_TOP.fullmatch(str(each)) for each in listed))
                files = [found["path"] for found in tops]
                chart, version = chart_named(at(source, "chart")), at(source, "targetRevision")
                if chart and files and len(files) == len(listed):
                    version = version if isinstance(version, str) else ""
                    called = str(name_of(made, place))
                    paths = tuple(map(posixpath.normpath, files))
                    yield _ReleaseFiles(chart, called, version, paths, is_all=True, of_top=True)


def _is_of_set(document: Document) -> bool:
    return is_set(document.value)


def _of_whole_set(document: Document) -> Iterator[_ReleaseFiles]:
    """What all applications of a set install, with files that none of their parameters is in."""
    if at(document.value, "spec", "templatePatch"):
        return
    sources = list(sources_of(at(document.value, *TEMPLATE)))
    refs = [at(source, "ref") for _, source in sources]
    for place, source in sources:
        above: FieldPath = (*TEMPLATE, *place, "helm", "valueFiles")
        count = len(items(at(source, "helm", "valueFiles")))
        told = [document.raw((*above, index)) or "" for index in range(count)]
        named = filter(None, map(_OF_TOP.fullmatch, told))
        files = [posixpath.normpath(found["path"]) for found in named if found["ref"] in refs]
        files = [each for each in files if "/" in each]  # at a top each may have one called so
        chart, version = chart_named(at(source, "chart")), at(source, "targetRevision")
        if chart and len(files) == count > 0 and not any("{{" in each for each in files):
            version = version if isinstance(version, str) else ""
            yield _ReleaseFiles(chart, "", version, tuple(files), is_all=True, of_top=True)


def manifests_named_by(file: GivenFile) -> Iterator[str]:
    """Paths of manifests that programs of Pulumi in YAML apply, and patterns of such."""
    folder = posixpath.dirname(posixpath.normpath(file.name))
    for value in _programs(file):
        for named in manifests_named(value):
            yield posixpath.normpath(posixpath.join(folder, named))


def _applied(file: GivenFile, known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    patterns = list(manifests_named_by(file))
    if patterns:
        paths = [path for each in patterns for path in sorted(fnmatch.filter(known, each))]
        yield posixpath.normpath(file.name), paths


def _programs(file: GivenFile) -> Iterator[Any]:
    if "resources:" in file.text and _OF_PULUMI.search(file.text) and not is_guide(file.name):
        values = (document.value for document in read_texts(file.text, file.name).documents)
        yield from filter(is_program, values)


def _of_helmfile(file: GivenFile) -> Iterator[_ReleaseFiles]:
    """Releases with files, https://helmfile.readthedocs.io/en/latest/#configuration (2026)."""
    if "releases:" not in file.text or not file.name.lower().endswith(_HELMFILE):
        return
    for document in read_texts(file.text, file.name).documents:
        value = document.value if isinstance(document.value, dict) else {}
        for each in items(value.get("releases")) if is_helmfile(value) else ():
            chart, listed = chart_named(at(each, "chart")), items(at(each, "values"))
            files = tuple(str(one) for one in listed if isinstance(one, str))
            if chart and files and at(each, "installed") is not False:
                told = [*map(str, files), *(one for one in listed if isinstance(one, dict))]
                is_all = listed == told and not any(at(each, key) for key in FURTHER_VALUES)
                version = at(each, "version")
                version = version if isinstance(version, str) else ""
                yield _ReleaseFiles(chart, str(at(each, "name")), version, files, is_all)


def _of_tools(file: GivenFile) -> Iterator[_ReleaseFiles]:
    if "valuesFiles" not in file.text or not may_install(file.name, file.text):
        return
    for document in read_texts(file.text, file.name).documents:
        for each in releases_of_tools(document.value):
            yield _ReleaseFiles(*each)


def _where(folders: Iterable[str], named: str, known: set[str]) -> str | None:
    """The path of a file that is given or there; None of one that is not, or lies anywhere."""
    if posixpath.isabs(named) or not named.lower().endswith(_YAML):
        return None
    for folder in folders:
        path = posixpath.normpath(posixpath.join(folder, named))
        try:
            if path in known or Path(path).is_file():
                return path
        except (OSError, ValueError):
            continue
    return None
