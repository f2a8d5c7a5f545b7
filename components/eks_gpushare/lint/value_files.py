"""Files of values that an application of Argo CD names in the folder of a chart that is given.

And keys of ConfigMaps of which a release of Flux takes values.

Sources, November 2026: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files: Argo
CD ends where one is not there, unless `ignoreMissingValueFiles` is set. Of a path that leaves the
chart's folder, or of another source, it is not known where it leads.
https://fluxcd.io/flux/components/helm/helmreleases/#values-references: the ConfigMap is in the
namespace of the HelmRelease, and the key is `values.yaml` where none is named.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.by_value import ByValue
from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.inventory.wording import at_start
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
_FROM: Final = ("spec", "valuesFrom")
_BY_DEFAULT: Final = "values.yaml"
_KEY: Final = re.compile(r"[-._A-Za-z0-9]+")
"""What Kubernetes takes for a key: anything else is what something else fills in."""


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


def missing_keys(found: Iterable[Item]) -> Iterator[Problem]:
    """Keys of which releases of charts for GPUs take values, where the one ConfigMap lacks them.

    Args:
        found: Items of the files.
    """
    found = list(found)
    maps = ByValue([each for each in found if isinstance(each, ConfigMap)], lambda e: [e.name])
    said: set[tuple[str, str, FieldPath]] = set()
    for item in found:
        value = value_of(item) if isinstance(item, Release) else None
        if at(value, "kind") != "HelmRelease":
            continue
        space, folder = at(value, "metadata", "namespace"), item.source.folder
        for index, source in enumerate(items(at(value, *_FROM))):
            written = at(source, "valuesKey")
            where = (*_FROM, index, *(("valuesKey",) if written else ()))
            mark = item.source.file, item.source.name, where
            if mark in said or not _is_needed(source):
                continue
            key, name = written or _BY_DEFAULT, at(source, "name")
            known = _keys(maps.may_have(name), name, space, folder)
            if isinstance(key, str) and known and key not in known:
                said.add(mark)
                yield Problem(
                    NO_VALUES,
                    replace(item.source, path=()),
                    where,
                    f"{at_start(item.source.name)} takes values of {key} of the ConfigMap {name}, "
                    f"whose keys are {', '.join(known)}: Flux installs nothing.",
                    "Name one of those, or add the key to the ConfigMap.",
                )


def _is_needed(source: Any) -> bool:
    return at(source, "kind") == "ConfigMap" and at(source, "optional") in (None, False)


def _keys(meant: Iterable[ConfigMap], name: Any, space: Any, folder: str) -> tuple[str, ...]:
    """The keys of the one ConfigMap of a name and a namespace, if it is in a release's folder.

    One in another folder may be another cluster's.
    """
    found = [each for each in meant if each.namespace in (space, UNKNOWN)]
    one = found[0] if len(found) == 1 else None
    if one is None or (one.name, one.namespace) != (name, space) or one.data is UNKNOWN:
        return ()
    is_there = one.source.folder == folder
    is_whole = all(map(_KEY.fullmatch, one.data))
    return tuple(one.data) if is_there and is_whole else ()
