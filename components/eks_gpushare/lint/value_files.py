"""Files of values that an application of Argo CD names in the folder of a chart that is given.

Source: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files: Argo CD ends where
one is not there, unless `ignoreMissingValueFiles` is set; November 2026. Of a path that leaves the
chart's folder, or of another source, it is not known where it leads.
"""

from __future__ import annotations

import difflib
import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at, items
from eks_gpushare.lint.rules.files import NO_VALUES
from eks_gpushare.lint.scopes import CHART
from eks_gpushare.manifests.application_sets import sources_of
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Source

_YAML: Final = (".yaml", ".yml")


def missing_values(found: Iterable[Item], files: Iterable[str]) -> Iterator[Problem]:
    """Those of releases of charts for GPUs that are neither among the files nor where they lie.

    Args:
        found: Items of the files.
        files: Their normal paths.
    """
    known = set(files)
    charts = {posixpath.dirname(name) for name in known if posixpath.basename(name) == CHART}
    said: set[tuple[str, FieldPath]] = set()
    for item in found if charts else ():
        value = value_of(item) if isinstance(item, Release) else None
        if at(value, "kind") != "Application":
            continue
        for place, source in sources_of(at(value, "spec")):
            named = f"/{posixpath.normpath(str(at(source, 'path')))}"
            folders = [folder for folder in charts if f"/{folder}".endswith(named)]
            if len(folders) != 1 or at(source, "helm", "ignoreMissingValueFiles"):
                continue
            for index, name in enumerate(items(at(source, "helm", "valueFiles"))):
                where = ("spec", *place, "helm", "valueFiles", index)
                if (item.source.file, where) in said or not _is_within(name):
                    continue
                said.add((item.source.file, where))
                if not _is_there(posixpath.normpath(posixpath.join(folders[0], name)), known):
                    yield _problem(item.source, where, name, folders[0], known)


def _is_within(name: Any) -> bool:
    """Whether it is a path below the chart's folder."""
    if not isinstance(name, str) or not name.endswith(_YAML) or {"$", "{", ":"} & set(name):
        return False
    return not name.startswith("/") and ".." not in name.split("/")


def _is_there(path: str, known: set[str]) -> bool:
    return path in known or posixpath.exists(path)


def _problem(source: Source, place: FieldPath, name: str, folder: str, known: set[str]) -> Problem:
    others = [posixpath.relpath(each, folder) for each in known if each.startswith(f"{folder}/")]
    close = difflib.get_close_matches(name, [each for each in others if each.endswith(_YAML)])
    return Problem(
        NO_VALUES,
        replace(source, path=()),
        place,
        f"It takes values of {name}, which is not in {posixpath.basename(folder)}, the chart's "
        "folder: Argo CD renders nothing.",
        f"Did you mean {close[0]}?" if close else "Name a file that is there, or add it.",
    )
