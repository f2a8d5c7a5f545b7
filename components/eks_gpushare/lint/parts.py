"""Files of a call in parts that say nothing of each other, so that memory is that of the largest.

What is found in a file follows from its scope (`lint.scopes`) alone. Which files may come into one
scope is told here from their names and from what a glance at their texts shows: rather too many
than one too few. Only names that objects have, such as that of a ConfigMap, are known no earlier
than when all is read; `lint.streaming` sees to these.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.lint.ansible_variables import (
    has_tasks,
    is_of_ansible,
    keys_of,
    names_in,
    takes_files_in,
)
from eks_gpushare.lint.applied_by_commands import folders_applied_by
from eks_gpushare.lint.beside import (
    manifests_named_by,
    values_named_by,
    values_of_applications,
)
from eks_gpushare.lint.either import NearFiles, ways_in
from eks_gpushare.lint.named_folders import applied_by
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.scopes import CHART
from eks_gpushare.lint.shell.named_files import tail_elsewhere
from eks_gpushare.lint.terraform_variables import VARIABLES
from eks_gpushare.lint.values_of_sets import patterns_named, tells_of_cluster
from eks_gpushare.manifests.files import UNIT
from eks_gpushare.manifests.folders import Paths, ends_with, folders_above, is_pattern, those_meant
from eks_gpushare.manifests.kustomize_files import may_be_kustomization
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.manifests.files import GivenFile

_LONGEST: Final = 1024
"""Longest text that may be the path of a file."""
_RELATIVE: Final = re.compile(
    r'"(?:\$\{path\.module\}/)?(\.{0,2}/?[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]*|\.{1,2}/?)"'
)
"""A path in a configuration of Terraform: `source = "../modules/eks"`."""

_OF_UNIT: Final = re.compile(
    r'^[ \t]*source[ \t]*=[ \t]*"(?:\$\{[^{}"]*\})*[./]*([A-Za-z0-9_][^"$:]*)"', re.MULTILINE
)
"""The folder of a module that a unit of Terragrunt calls, from wherever it begins."""
_WORDS: Final = re.compile(r"(?<=[\s=])(?:\./[A-Za-z0-9_]|[A-Za-z0-9_-]+/)[A-Za-z0-9_/-]*(?=\s|$)")
"""Of a script, what is the path of a folder and no name alone."""


class Links:
    """What a glance at the files of a call shows of which belong together."""

    def __init__(self) -> None:
        self._files: dict[str, None] = {}
        self._folders: dict[str, list[str]] = {}
        self._named: dict[str, list[str]] = {}
        """Files and folders that a file names, by its normal path."""
        self._read_beside: dict[str, list[str]] = {}
        """Paths at which a file of values may lie that is read besides."""
        self._of_applications: dict[str, list[str]] = {}
        """Folders that applications of a file name, from the top of their repository."""
        self._substituting: list[str] = []
        """Files that take variables of Flux of ConfigMaps, which may be in folders below."""
        self._values: dict[str, list[str]] = {}
        """Files of values that they name, likewise."""
        self._patterns: dict[str, list[str]] = {}
        """Files that applications and sets of them name from wherever, or patterns of such."""
        self._units: dict[str, str] = {}
        """Folders of modules that units of Terragrunt call, likewise, by the unit."""
        self._ways: dict[str, set[str]] = {}
        """Files and folders that a guide or a script says are one or the other."""
        self._of_clusters: list[str] = []
        """Files of clusters that Argo CD knows, and of sets whose values may be called by those."""
        self._kustomizations: list[str] = []
        self._tasks: list[str] = []
        """Files of Ansible of whose tasks others of `_of_ansible` may say something."""
        self._of_ansible: list[str] = []
        self._variables: set[str] = set()
        """Names of variables of Ansible."""
        self._keys: dict[str, list[str]] = {}
        """Files by keys at their tops, each of which may be a variable."""

    def look_at(self, file: GivenFile) -> None:
        """Note what a file names, and nothing else of it."""
        path = posixpath.normpath(file.name)
        self._files[path] = None
        self._folders.setdefault(posixpath.dirname(path), []).append(path)
        if may_be_kustomization(path, file.text):
            self._kustomizations.append(path)
            documents = read_texts(file.text, file.name).documents
            self._named[path] = [each for one in documents for each in _paths(path, one.value)]
        self._look_at_applications(path, file)
        self._tasks += (path,) if has_tasks(file) else ()
        self._of_ansible += (path,) if is_of_ansible(file) or takes_files_in(file) else ()
        self._variables.update(names_in(file))
        for key in keys_of(file):
            self._keys.setdefault(key, []).append(path)
        folder = posixpath.dirname(path)
        for each in values_named_by(file):
            paths = posixpath.normpath(posixpath.join(folder, each)), posixpath.normpath(each)
            self._named.setdefault(path, []).extend(paths)
            self._read_beside.setdefault(path, []).extend(paths)
            self._values.setdefault(path, []).append(tail_elsewhere(path, each))
        for each in manifests_named_by(file):
            named = posixpath.dirname(each) if "*" in each else each
            self._named.setdefault(path, []).append(named)
        for each in _folders_of_script(file):
            paths = posixpath.normpath(posixpath.join(folder, each)), posixpath.normpath(each)
            self._named.setdefault(path, []).extend(paths)
        if names := {name for way in ways_in(path, file.text) for name in way.names}:
            self._ways[path] = names
        if path.endswith(VARIABLES):  # of a root there or above
            self._named.setdefault(path, []).extend(folders_above(folder))
        if posixpath.basename(path) == UNIT and (called := _OF_UNIT.search(file.text)):
            self._units[path] = posixpath.normpath(called[1].replace("//", "/"))
        for each in _modules_of(file):
            named = posixpath.normpath(posixpath.join(folder, each))
            self._named.setdefault(path, []).append(named)

    def _look_at_applications(self, path: str, file: GivenFile) -> None:
        if folders := [each.folder for each in applied_by(file)]:
            self._of_applications[path] = folders
            self._substituting += (path,) if "substituteFrom" in file.text else ()
        if applied := folders_applied_by(file):
            self._named.setdefault(path, []).extend(applied)
        if tails := list(values_of_applications(file)):
            self._values.setdefault(path, []).extend(tails)
        if patterns := patterns_named(file):
            self._patterns[path] = patterns
        if (patterns and "clusters:" in file.text) or tells_of_cluster(file.text):
            self._of_clusters.append(path)

    def parts(self, declared: Mapping[str, Iterable[str]]) -> list[list[str]]:
        """The normal paths of files that may be of one scope, in the order in which they came.

        Args:
            declared: Scopes that a configuration names, with the normal paths of their files.
        """
        joined = Joined(self._files)
        for files in (*self._folders.values(), *declared.values()):
            joined.join(files)
        charts = {posixpath.dirname(each) for each in self._files if _is_chart(each)}
        below = _Below(self._folders)
        for folder, files in self._folders.items():
            chart = next((each for each in folders_above(folder) if each in charts), None)
            if chart is not None:
                joined.join((files[0], posixpath.join(chart, CHART)))
        for file, named in self._named.items():
            for path in named:
                # A folder that is given stands among the files too, for what is said of it.
                joined.join((file, path, *self._folders.get(path, ())))
        for file, tail in self._units.items():
            meant = (each for each in self._folders if ends_with(each, tail))
            joined.join((file, *(self._folders[each][0] for each in meant)))
        beside: dict[str, str] = {}
        for file, named in self._read_beside.items():
            for path in named:
                joined.join((file, beside.setdefault(path, file)))
        self._join_applications(joined, below)
        joined.join(self._of_clusters)
        self._join_ways(joined)
        given = (file for name in sorted(self._variables) for file in self._keys.get(name, ()))
        joined.join((*self._tasks, *self._of_ansible, *given) if self._tasks else ())
        return joined.groups()

    def _join_applications(self, joined: Joined, below: _Below) -> None:
        """Join what applications name with the files that they stand in."""
        paths = Paths(self._files)
        for file, tails in self._values.items():
            joined.join((file, *(each for tail in tails for each in paths.ending_with(tail))))
        for file, patterns in self._patterns.items():
            joined.join((file, *paths.meant_by(patterns)))
        for file, folders in self._of_applications.items():
            is_meant = those_meant(folders)
            built = (each for each in self._kustomizations if is_meant(posixpath.dirname(each)))
            joined.join((file, *below.of_application(file, folders), *built))
        for file in self._substituting:
            joined.join((file, *below.of_folder(posixpath.dirname(file))))

    def _join_ways(self, joined: Joined) -> None:
        """Join files that are one or the other with what says so.

        Those of a folder, or called alike, are joined once, and then stood for by the first.
        """
        known = NearFiles(self._files if self._ways else ())
        first: dict[tuple[str, bool], str] = {}
        for file, names in self._ways.items():
            for name in sorted(names):
                near = known.near(file, name)
                key = (name, False) if near is None else (near, True)
                if key not in first:
                    files = known.called(name) if near is None else known.files_of(near)
                    joined.join(files)
                    first[key] = files[0] if files else file
                joined.join((file, first[key]))


class Joined:
    """Things of which some belong together, and so do all that these are joined with.

    Args:
        things: All of them.
    """

    def __init__(self, things: Iterable[str]) -> None:
        self._above = {each: each for each in things}

    def join(self, things: Iterable[str]) -> None:
        """Say that some belong together; those that are not known are passed over."""
        known = [each for each in things if each in self._above]
        for each in known[1:]:
            self._above[self.top(each)] = self.top(known[0])

    def top(self, thing: str) -> str:
        """The thing by which all are known that belong together with one."""
        while self._above[thing] != thing:
            self._above[thing] = self._above[self._above[thing]]
            thing = self._above[thing]
        return thing

    def groups(self) -> list[list[str]]:
        """All of them by what they belong together with."""
        found: dict[str, list[str]] = {}
        for each in self._above:
            found.setdefault(self.top(each), []).append(each)
        return list(found.values())


class _Below:
    """Files by the folders that they are in, and that those are in."""

    def __init__(self, folders: Mapping[str, list[str]]) -> None:
        self._first: dict[str, list[str]] = {}
        """A file of each folder below, by the folder."""
        for folder, files in folders.items():
            for each in folders_above(folder):
                self._first.setdefault(each, []).append(files[0])

    def of_folder(self, folder: str) -> Sequence[str]:
        """A file of each folder in one, and of that."""
        return self._first.get(folder, ())

    def of_application(self, file: str, named: Sequence[str]) -> Iterator[str]:
        """Files of folders that applications name, from whichever folder above them on."""
        several = [each for each in named if is_pattern(each)]
        for top in folders_above(posixpath.dirname(file)):
            for folder in named:
                yield from self._first.get(posixpath.normpath(posixpath.join(top, folder)), ())
            for folder in filter(those_meant(several, top), self._first) if several else ():
                yield from self._first[folder]


def _folders_of_script(file: GivenFile) -> Iterator[str]:
    """Words of a script that may be folders which it applies, or charts which it installs."""
    if ShellReader().matches(file.name, file.text):
        yield from _WORDS.findall(file.text)


def _modules_of(file: GivenFile) -> Iterator[str]:
    """Folders and files beside it that a file of Terraform names."""
    if file.name.endswith((".tf", ".tf.json")):
        yield from _RELATIVE.findall(file.text)


def _paths(kustomization: str, value: Any) -> Iterator[str]:
    """Whatever in a kustomization may be the path of a file or a folder, by its normal path."""
    folder = posixpath.dirname(kustomization)
    for text in _texts(value):
        for path in {text, text.rpartition("=")[2]}:
            yield posixpath.normpath(posixpath.join(folder, path))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _is_chart(file: str) -> bool:
    return posixpath.basename(file) == CHART
