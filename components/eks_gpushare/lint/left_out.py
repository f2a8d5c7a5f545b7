"""Folders beside what a cluster gets that nothing takes in: of before, or of others."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from eks_gpushare.manifests.folders import folders_above, meant_in
from eks_gpushare.manifests.kustomize import tops_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def left_out(
    applied: Mapping[str, Sequence[str]], kustomizations: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Files of kustomizations beside one that an application names, or that of the folder above.

    What is named itself is among them, and joined with what names it all the same. Nothing is told
    of folders at the top, which have whatever a repository is made of.

    Args:
        applied: Folders that applications of a file name, by the normal path of the file.
        kustomizations: Files that are kustomizations, each with all that it is built of.
    """
    every = {above for file in kustomizations for above in folders_above(posixpath.dirname(file))}
    named = {
        meant
        for file, folders in applied.items()
        for folder in folders
        for meant in meant_in(file, folder, (), every)
    }
    inner = {
        posixpath.dirname(file)
        for other, files in kustomizations.items()
        for file in files & kustomizations.keys()
        if file.startswith(f"{posixpath.dirname(other)}/") and file != other
    }
    beside = {posixpath.dirname(folder) for folder in named | inner} - {"", "."}
    return frozenset[str]().union(
        *(
            kustomizations[file]
            for file in tops_of(kustomizations)
            if posixpath.dirname(posixpath.dirname(file)) in beside
        )
    )
