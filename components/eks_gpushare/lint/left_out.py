"""Folders beside what a cluster gets that nothing takes in: of before, or of others."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from eks_gpushare.manifests.folders import folders_above, meant_in
from eks_gpushare.manifests.kustomize import tops_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def left_out(
    applied: Mapping[str, Sequence[str]], kustomizations: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Files of kustomizations that no application names, where applications name such beside them.

    So are those that the kustomization of the folder above leaves out, and takes others. Nothing is
    told of folders at the top, which have whatever a repository is made of.

    Args:
        applied: Folders that applications of a file name, by the normal path of the file.
        kustomizations: Files that are kustomizations, each with all that it is built of.
    """
    every = {above for file in kustomizations for above in folders_above(posixpath.dirname(file))}
    named = set(_named(applied, every))
    inner = {
        posixpath.dirname(file)
        for other, files in kustomizations.items()
        for file in files & kustomizations.keys()
        if file.startswith(f"{posixpath.dirname(other)}/") and file != other
    }
    beside = {posixpath.dirname(folder) for folder in named | inner} - {"", "."}
    found = frozenset[str]()
    for file in tops_of(kustomizations):
        folder = posixpath.dirname(file)
        is_named = not named.isdisjoint(folders_above(folder)) or any(
            each.startswith(f"{folder}/") for each in named | inner
        )
        if posixpath.dirname(folder) in beside and not is_named:
            found |= kustomizations[file]
    return found


def _named(applied: Mapping[str, Sequence[str]], every: set[str]) -> Iterable[str]:
    for file, folders in applied.items():
        without = [each for each in folders if each.startswith("!")]
        for each in folders:
            yield from meant_in(file, each, without, every)
