"""Files as scripts and guides name them, from wherever they are run or have gone to."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.manifests.folders import folders_above
from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from eks_gpushare.manifests.folders import Paths


def tail_of(name: str) -> str:
    """What is known of the path that a name is of; empty if it is of the machine, or nothing is.

    Args:
        name: A path, with a gap for each part of it that is not known.
    """
    _, gap, tail = name.rpartition(GAP)
    if tail.startswith("/") is not bool(gap):
        return ""  # of the machine, or a part of a name
    whole = posixpath.normpath(tail.lstrip("/"))
    while whole.startswith("../"):
        whole = whole.removeprefix("../")
    return whole


def tail_elsewhere(named_by: str, name: str) -> str:
    """The end of the path by which a file is looked for elsewhere than beside what names it.

    Empty of a name without a folder, which other charts' files have too, and in a guide, of which
    one section is for one cluster and another is not.

    Args:
        named_by: The path of what names it.
        name: A path, with a gap for each part of it that is not known.
    """
    tail = tail_of(name)
    return tail if "/" in tail and not is_guide(named_by) else ""


def named_from(script: str, name: str, paths: Paths) -> str | None:
    """The file that a path with a folder means, from a folder above a script or from its own.

    Where none of these has it, it is the only one anywhere. None if there is none, or several.

    Args:
        script: The normal path of what names it.
        name: A path, with a gap for each part of it that is not known.
        paths: Those of all files that it may be.
    """
    tail = tail_elsewhere(script, name)
    found = paths.ending_with(tail)
    for folder in folders_above(posixpath.dirname(script)):
        if (path := posixpath.join(folder, tail)) in found:
            return path
    return found[0] if len(found) == 1 else None
