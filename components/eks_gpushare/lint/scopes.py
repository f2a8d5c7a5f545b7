"""Which files belong together, by what joins them: a scope is what one cluster may get of them.

What is said of one file by another is judged within a scope. A file may be in several, as a base of
several overlays is; each is in one at least. What a scope holds depends on nothing outside of it
and of what it names, so that a further folder changes no other's scopes.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.manifests.folders import folders_above, meant_in
from eks_gpushare.manifests.kustomize import tops_of
from eks_gpushare.manifests.kustomize_files import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CHART: Final = "Chart.yaml"
_PUT_OUT: Final = re.compile(
    r"^[ \t]*#[ \t]*-[ \t]+((?:\./)?[A-Za-z0-9_.-]+\.ya?ml)[ \t]*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file, and what it says of others."""

    file: str
    """Its normal path."""
    folders: tuple[str, ...] = ()
    """Folders that its applications name, from the top of their repository."""
    files: tuple[str, ...] = ()
    """Files that it takes in, wherever they lie: values that a command installs with."""
    others: tuple[str, ...] = ()
    """Files that have what it names and no other has, such as a ConfigMap."""
    put_out: tuple[str, ...] = ()
    """Files that it names as a kustomization in lines which are put out by a comment."""


@dataclass(frozen=True, slots=True)
class FileScope:
    """Files that belong together, and why."""

    name: str
    why: str
    files: frozenset[str] = frozenset()
    builds: frozenset[str] = frozenset()
    """Kustomizations whose results belong to it, by their files."""
    declared: bool = False
    """Whether somebody said so, or a tool puts them together, so that it is no guess."""
    all: bool = False
    """Whether it is of whatever is read."""
    parts: tuple[FileScope, ...] = ()
    """The scopes of which it is made, where nothing joins these but how they are laid out."""
    is_put_out: bool = False
    """Whether it is a file that lies beside a kustomization which does without it for now."""
    is_environment: bool = False
    """Whether it is one of several environments that have files in common."""

    @property
    def is_certain(self) -> bool:
        """Whether its files are of one cluster for certain."""
        return self.declared or len(self.files) == 1


def all_together() -> FileScope:
    """All that is read as one scope, as the call says."""
    return FileScope("all files", "they are declared to belong together", declared=True, all=True)


def scopes_of(
    members: Sequence[Member],
    kustomizations: Mapping[str, frozenset[str]],
    declared: Mapping[str, frozenset[str]] | None = None,
    roots: Mapping[str, frozenset[str]] | None = None,
    charts: Mapping[str, frozenset[str]] | None = None,
) -> tuple[FileScope, ...]:
    """The scopes of some files.

    Args:
        members: The files.
        kustomizations: Files that are kustomizations, each with all that it is built of and itself.
        declared: Scopes that a configuration names, with their files.
        roots: Folders that are root modules of Terraform, each with all files that it is made of.
        charts: Results of charts, each with the files of the chart and of its values.
    """
    roots = roots or {}
    found = [
        _declared(name, files, kustomizations, roots)
        for name, files in (declared or {}).items()
        if files
    ]
    taken = frozenset[str]().union(*(declared or {}).values())
    left = [member for member in members if member.file not in taken]
    inner = {name: files - taken for name, files in kustomizations.items() if name not in taken}
    of_roots = {name: files - taken for name, files in roots.items()}
    of_charts = (
        FileScope(f"the chart {name}", "helm renders it", files, frozenset((name,)), declared=True)
        for name, files in (charts or {}).items()
    )
    return (*found, *_Finder(left, inner, of_roots).scopes(), *of_charts)


def _declared(
    name: str,
    files: frozenset[str],
    kustomizations: Mapping[str, frozenset[str]],
    roots: Mapping[str, frozenset[str]],
) -> FileScope:
    """A scope that a configuration names, with what its kustomizations and roots are built of."""
    folders = {posixpath.dirname(file) or "." for file in files}
    built = {file: kustomizations[file] for file in files & kustomizations.keys()}
    built |= {root: of for root, of in roots.items() if (root or ".") in folders}
    return FileScope(
        f"scope {name}",
        "the configuration declares it",
        files.union(*built.values()),
        files.union(built),
        declared=True,
    )


def put_out_in(name: str, text: str) -> Iterator[str]:
    """Files that a kustomization names in lines which are put out by a comment."""
    if posixpath.basename(name) in NAMES:
        folder = posixpath.dirname(posixpath.normpath(name))
        for found in _PUT_OUT.finditer(text):
            yield posixpath.normpath(posixpath.join(folder, found[1]))


class _Finder:
    """The work on one call's files."""

    def __init__(
        self,
        members: Sequence[Member],
        kustomizations: Mapping[str, frozenset[str]],
        roots: Mapping[str, frozenset[str]],
    ) -> None:
        self._members = {member.file: member for member in members}
        self._roots = roots
        self._kustomizations = kustomizations
        self._tops = tops_of(kustomizations)
        self._folders = {
            folder for file in self._members for folder in folders_above(posixpath.dirname(file))
        }
        built = [file for file in self._members if posixpath.basename(file) in NAMES]
        self._gates = {posixpath.dirname(file): file for file in (*built, *kustomizations)}
        self._charts = {posixpath.dirname(f) for f in self._members if _is_chart(f)}
        self._units: dict[str, FileScope] = {}
        self._by_file: dict[str, list[str]] = {}

    def scopes(self) -> Iterator[FileScope]:
        """Units that no other takes in, each with all that it takes in."""
        self._make_units()
        inner: dict[str, list[str]] = {}
        waiting = list(self._units)
        for key in waiting:  # which grows: what is named may name more
            inner[key] = list(dict.fromkeys(self._named_by(self._units[key], key)))
            waiting += islice(self._units, len(waiting), None)
        named = {file for found in inner.values() for file in found}
        seen: set[str] = set()
        tops = dict.fromkeys(key for key in self._units if key not in named)
        for key in (*tops, *(unit for unit in self._units if unit not in tops)):
            if key in tops or key not in seen:
                reached = _reached(key, inner)
                seen |= reached
                yield self._joined(key, reached)
        left = self._members.keys() - frozenset().union(*(e.files for e in self._units.values()))
        if left:  # files that name each other, and that nothing else names
            yield FileScope("files that name each other", "they do", frozenset(left))

    def _make_units(self) -> None:
        for name in self._tops:
            self._add_kustomization(name)
        self._add_roots()
        owned = frozenset[str]().union(*self._kustomizations.values(), *self._roots.values())
        groups: dict[tuple[str, str], list[str]] = {}
        taken = {
            named
            for file, member in self._members.items()
            for named in member.files
            if posixpath.dirname(named) != posixpath.dirname(file)
        }
        out = {file for member in self._members.values() for file in member.put_out} - owned
        for file in sorted(out & self._members.keys() - taken):
            made = FileScope(
                f"the file {file}", "a comment puts it out", frozenset((file,)), is_put_out=True
            )
            self._units[made.name] = made
            self._by_file.setdefault(file, []).append(made.name)
        for file in self._members:
            if file not in owned and file not in taken and file not in out:
                groups.setdefault(self._group(file), []).append(file)
        for (kind, folder), files in groups.items():
            if kind == "guides":
                self._add_guides(files, beside=groups.get(("the folder", folder)))
        for (kind, folder), files in groups.items():
            built = self._built_in(folder) if kind == "the folder" else None
            if built is not None:
                self._add_beside(built, files)
            elif kind != "guides":
                why = "they are one chart" if kind == "the chart" else "they lie in one folder"
                self._add(f"{kind} {folder or '.'}", why, files)

    def _built_in(self, folder: str) -> str | None:
        """The unit that a folder is built as, which what lies beside it belongs to."""
        built = [each for each in self._tops if posixpath.dirname(each) == folder]
        if not built and (folder or ".") in self._roots:
            return f"the Terraform root {folder or '.'}"
        return f"the kustomization {built[0]}" if len(built) == 1 else None

    def _group(self, file: str) -> tuple[str, str]:
        """The kind of unit that a file is of, and its folder."""
        folder = posixpath.dirname(file)
        chart = next((each for each in folders_above(folder) if each in self._charts), None)
        if chart is not None:
            return "the chart", chart
        return "guides" if is_guide(file) else "the folder", folder

    def _add_guides(self, files: list[str], beside: list[str] | None) -> None:
        if len(files) == 1 and beside is not None:
            beside += files  # it tells how to use what lies beside it
            return
        for file in files:
            self._add(f"the guide {file}", "a guide of its own", {file})

    def _add_beside(self, name: str, files: Iterable[str]) -> None:
        """Files of a kustomization's folder that it does not name."""
        unit = self._units[name]
        why = "it is built of them, or they lie beside it"
        whole = unit.files.union(files)
        self._units[name] = replace(unit, files=whole, why=why, declared=False)
        for file in files:
            self._by_file.setdefault(file, []).append(name)

    def _add_roots(self) -> None:
        for name, files in self._roots.items():
            why = "Terraform makes it of them"
            self._add(f"the Terraform root {name}", why, files, frozenset((name,)), certain=True)

    def _add_kustomization(self, name: str) -> str:
        why = "it is built of them"
        files = self._kustomizations[name]
        return self._add(f"the kustomization {name}", why, files, frozenset((name,)), certain=True)

    def _add(
        self,
        name: str,
        why: str,
        files: Iterable[str],
        builds: frozenset[str] = frozenset(),
        *,
        certain: bool = False,
    ) -> str:
        if name not in self._units:
            made = FileScope(name, why, frozenset(files), builds, declared=certain)
            self._units[name] = made
            for file in made.files:
                self._by_file.setdefault(file, []).append(name)
        return name

    def _named_by(self, unit: FileScope, key: str) -> Iterator[str]:
        """The units that files of one name."""
        for file in sorted(unit.files & self._members.keys()):
            member = self._members[file]
            left_out = [named for named in member.folders if named.startswith("!")]
            for named in member.folders:
                for folder in meant_in(file, named, left_out, self._folders):
                    yield from (other for other in self._in_folder(folder) if other != key)
            for named in (*member.files, *member.others):
                if named in self._members and named not in unit.files:
                    yield self._add(f"the file {named}", "others name it", {named})

    def _in_folder(self, folder: str) -> Iterator[str]:
        """The units of a folder that an application names."""
        if folder in self._gates:
            yield from self._through(folder)
            return
        for inner in sorted(file for file in self._members if file.startswith(f"{folder}/")):
            above = folders_above(posixpath.dirname(inner))
            way = [each for each in above if each in self._gates and each.startswith(f"{folder}/")]
            yield from self._through(way[-1]) if way else self._by_file.get(inner, ())

    def _through(self, folder: str) -> Iterator[str]:
        """What of a folder is applied that has a kustomization: that and no more, as Flux does.

        One of comments brings nothing. Source, of folders that have one further down:
        https://fluxcd.io/flux/components/kustomize/kustomizations/#generating-a-kustomizationyaml-file.
        """
        if self._gates[folder] in self._kustomizations:
            yield self._add_kustomization(self._gates[folder])

    def _joined(self, key: str, reached: Iterable[str]) -> FileScope:
        unit = self._units[key]
        others = [self._units[name] for name in sorted(reached) if name != key]
        if not others:
            return unit
        return FileScope(
            unit.name,
            f"{unit.why}, and it names {', '.join(scope.name for scope in others)}",
            unit.files.union(*(scope.files for scope in others)),
            unit.builds.union(*(scope.builds for scope in others)),
            declared=all(scope.declared for scope in (unit, *others)),
        )


def _reached(key: str, inner: Mapping[str, Sequence[str]]) -> set[str]:
    found, waiting = {key}, [key]
    while waiting:
        for unit in inner.get(waiting.pop(), ()):
            if unit not in found:
                found.add(unit)
                waiting.append(unit)
    return found


def _is_chart(file: str) -> bool:
    return posixpath.basename(file) == CHART
