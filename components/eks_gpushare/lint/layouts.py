"""How folders are laid out that nothing joins: as one cluster, as its environments, or as several.

What all folders together are not, those within one of them may be: `clusters/alpha` and
`clusters/beta`, or the folders of two teams, each with nodes and what is installed on them. So the
same is asked of all (`lint.one_cluster`, `lint.environments`), and where the answer is no of each
folder in the outermost that has several.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.lint.environments import environments, names_of, names_of_all
from eks_gpushare.lint.one_cluster import (
    files_apart,
    is_called_as_part,
    is_of_use,
    is_one_cluster,
    kept,
    whole_of_files,
)
from eks_gpushare.lint.scopes import FileScope
from eks_gpushare.manifests.folders import folders_above, is_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eks_gpushare.lint.one_cluster import Once


_DEEPEST: Final = 6
"""How often folders are taken apart: below, nobody lays out several clusters."""


class Layout(NamedTuple):
    """Folders that are laid out as the parts of one cluster, or as its environments."""

    folder: str
    """The folder that all lie in; empty for all that there is."""
    environments: frozenset[str]
    """Folders of the environments; none of one cluster."""
    apart: frozenset[str]
    """Files there that need not be of it."""

    @property
    def where(self) -> str:
        """Where it is, for sentences."""
        return f" in {self.folder}" if self.folder else ""

    @property
    def is_part(self) -> bool:
        """Whether it is called as a part of a cluster, so that what lies beside it may be of it."""
        return is_called_as_part(posixpath.basename(self.folder))


class Layouts:
    """How folders are laid out, none within another.

    Args:
        found: The layouts.
    """

    def __init__(self, found: Iterable[Layout]) -> None:
        self._found = {each.folder: each for each in found}
        self._by_folder: dict[str, Layout | None] = {}

    def __iter__(self) -> Iterator[Layout]:
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, file: str) -> Layout | None:
        """The layout that a file is of, by its normal path."""
        folder = posixpath.dirname(file)
        if folder not in self._by_folder:
            above = (*folders_above(folder), "")
            self._by_folder[folder] = next(
                (self._found[each] for each in above if each in self._found), None
            )
        return self._by_folder[folder]

    def parts(self, file: str, other: str) -> bool:
        """Whether two files are of different clusters or environments.

        Of a file that is of none, or where one is called as a part of a cluster, it is not known.
        """
        one, two = self.of(file), self.of(other)
        if one is None or two is None:
            return False
        if one is not two:
            return not (one.is_part or two.is_part)
        names, others = (names_of(each, one.environments) for each in (file, other))
        return bool(names and others) and names.isdisjoint(others)


def layouts(once: Once, folder: str = "", depth: int = 0) -> Iterator[Layout]:
    """The layouts of some files.

    Args:
        once: What a cluster has once, with the normal paths of the files that have it.
        folder: The one that all of them lie in.
        depth: How often folders were taken apart to come to it.
    """
    if not is_of_use(posixpath.basename(folder)) and is_one_cluster(once):
        yield Layout(folder, frozenset(), files_apart(once))
    elif found := environments(once):
        yield Layout(folder, found, _apart_in(once, found))
    elif depth < _DEEPEST:
        for own in _inner(once):
            yield from layouts(own, _whole_of(own), depth + 1)


def laid_out(
    scopes: Iterable[FileScope], found: Iterable[Layout], left_out: frozenset[str] = frozenset()
) -> tuple[FileScope, ...]:
    """Scopes by what joins files, with those as one whose folders are of one cluster.

    Args:
        scopes: What there is by what joins files.
        found: How their folders are laid out.
        left_out: Files that lie beside those of a cluster, and are of none.
    """
    made = list(scopes)
    for layout in found:
        apart = layout.apart | left_out
        parts = [scope for scope in made if _is_of(scope, layout.folder, apart)]
        whole = _environments(layout, parts) if layout.environments else [_cluster(layout, parts)]
        if whole and parts:
            taken = set(map(id, parts))
            made = [*whole, *(scope for scope in made if id(scope) not in taken)]
    return tuple(made)


def _is_of(scope: FileScope, folder: str, apart: frozenset[str]) -> bool:
    """Whether a scope is of the cluster in a folder: no guide, nothing that is put out."""
    if scope.is_put_out or not all(is_below(file, folder) for file in scope.files):
        return False
    return not all(is_guide(file) or file in apart for file in scope.files)


def _cluster(layout: Layout, parts: Sequence[FileScope]) -> FileScope:
    why = "whatever a cluster has once is there once, in a folder that is called after it"
    return _whole(f"folders of one cluster{layout.where}", why, parts)


def _environments(layout: Layout, parts: Sequence[FileScope]) -> list[FileScope]:
    """One scope for each of several environments; none if a part is of several."""
    folders = layout.environments
    named = [
        (scope, set[str]().union(*(names_of(file, folders) for file in scope.files)))
        for scope in parts
    ]
    if any(len(names) > 1 for _, names in named):
        return []
    why = "it has what a cluster has once, and no other environment has its folders"
    found = (
        _whole(
            f"the environment {name}{layout.where}",
            why,
            [each for each, of in named if of <= {name}],
        )
        for name in names_of_all(folders)
    )
    return [replace(each, is_environment=True) for each in found]


def _whole(name: str, why: str, parts: Sequence[FileScope]) -> FileScope:
    return FileScope(
        name,
        why,
        frozenset[str]().union(*(scope.files for scope in parts)),
        frozenset[str]().union(*(scope.builds for scope in parts)),
        parts=tuple(parts),
    )


def _apart_in(once: Once, folders: frozenset[str]) -> frozenset[str]:
    """Files that need not be of what their environment is, or all together."""
    inner = (files_apart(kept(once, partial(is_below, folder=folder))) for folder in folders)
    return files_apart(once).union(*inner)


def _inner(once: Once) -> list[Once]:
    """What of it lies in each folder of the outermost that has several."""
    whole = _whole_of(once)
    found: dict[str, dict[tuple[str, str], frozenset[str]]] = {}
    for key, files in once.items():
        for file in files:
            name, is_inside, _ = file[len(whole) :].lstrip("/").partition("/")
            if is_inside:
                own = found.setdefault(name, {})
                own[key] = own.get(key, frozenset()) | {file}
    return [found[name] for name in sorted(found) if found[name] != once]


def _whole_of(once: Once) -> str:
    return whole_of_files(file for files in once.values() for file in files)
