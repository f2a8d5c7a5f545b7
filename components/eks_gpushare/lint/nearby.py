"""Folders that may be of the same cluster as a scope, though nothing joins them.

What a scope lacks may lie beside it: pods are a kustomization's, and the nodes that they are for
are made by a Terraform root two folders on. So what is said of a scope has to hold with whatever
else may be of its cluster. From the scope's folder upwards that is each folder that has nothing
which a cluster has once and the scope, or what lies nearer, has already: that is of another.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import EXAMPLES
from eks_gpushare.lint.one_cluster import ASKED, OF_THE_PAST, SPACE, whole_of
from eks_gpushare.manifests.folders import folders_above, is_below

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.lint.layouts import Layouts
    from eks_gpushare.lint.one_cluster import Once

_MOST: Final = 200
"""Folders that are looked at; of more it is not told which may be of one cluster."""
NOT_OF_A_CLUSTER: Final = EXAMPLES | OF_THE_PAST | {"test", "tests", "testdata", "fixtures", "e2e"}
"""Names of folders of what is tried, or was once, and that no cluster in use is made of."""


class Nearby:
    """Folders of some files, by what a cluster has once of them.

    Args:
        once: What a cluster has once, with the normal paths of the files that have it.
        objects: Normal paths of all files that have something of a cluster.
        found: How the folders are laid out.
        made: The clusters that files make, each with the normal paths of the files that do.
    """

    def __init__(self, once: Once, objects: Iterable[str], found: Layouts, made: Once) -> None:
        self._keys: dict[str, set[tuple[str, str]]] = {posixpath.dirname(f): set() for f in objects}
        self._layouts = found
        for key, files in once.items():
            for file in files:
                kept = self._keys.setdefault(posixpath.dirname(file), set())
                if key[0] not in (SPACE, ASKED):
                    kept.add(key)
        self._made: dict[str, set[str]] = {}
        for (_, name), files in made.items():
            for file in files:
                self._made.setdefault(posixpath.dirname(file), set()).add(name)

    def of(self, files: Iterable[str]) -> frozenset[str]:
        """The folders that may have more of what some files are of, without their own.

        Args:
            files: Normal paths of the files of a scope, and of what it builds.
        """
        own = {posixpath.dirname(file) for file in files}
        taken = set(own)
        had = self._of(own)
        clusters = self._made_in(own)
        for level in folders_above(whole_of(own)):
            inside = [each for each in self._keys if each not in taken and _is_in(each, level)]
            found = [each for each in inside if not self._is_other(each, had, clusters)]
            if len(inside) > _MOST:
                break
            taken.update(each for each in found if self._is_of(each, level, own))
            had |= self._of(found)
            clusters |= self._made_in(found)
        return frozenset(taken - own)

    def _of(self, folders: Iterable[str]) -> set[tuple[str, str]]:
        return set[tuple[str, str]]().union(*(self._keys.get(each, ()) for each in folders))

    def _made_in(self, folders: Iterable[str]) -> set[str]:
        return set[str]().union(*(self._made.get(each, ()) for each in folders))

    def _is_other(self, folder: str, had: set[tuple[str, str]], clusters: set[str]) -> bool:
        """Whether a folder has what there is once already, or makes another cluster."""
        made = self._made.get(folder, set())
        return not had.isdisjoint(self._keys[folder]) or bool(
            made and clusters and made.isdisjoint(clusters)
        )

    def _is_of(self, folder: str, level: str, own: set[str]) -> bool:
        """Whether a folder is of no example, test or the past, and of no cluster by itself."""
        below = posixpath.relpath(folder or ".", level or ".").lower().split("/")
        if not NOT_OF_A_CLUSTER.isdisjoint(below):
            return False
        return not any(self._layouts.parts(f"{folder}/", f"{each}/") for each in own)


def _is_in(folder: str, level: str) -> bool:
    return folder == level or is_below(folder, level)
