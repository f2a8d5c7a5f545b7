"""Applications of Argo CD, and releases of Helmfile, with values in files: one release of all.

Later files go over earlier ones, and values of the application itself over those of all files,
https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence; November 2026. So
do those of Helmfile that are written after its files.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.items import Pointer, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.manifests.checks.charts.chart_values import values_of_files
from eks_gpushare.manifests.shell.set_values import put, settings
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.beside import Install


class _Whole(NamedTuple):
    """An application with what its files of values say, in their order."""

    application: Release
    layers: tuple[Release, ...]


def with_files_of_applications(
    found: Sequence[Item], named: Sequence[Install]
) -> tuple[list[Item], list[Judgement]]:
    """The items with one release for each such application, and what is wrong in its parts.

    The release stands in the last of the files. Where another application takes that one too, or
    not all of them are known, all is left as it is.

    Args:
        found: All items.
        named: What is installed with values of files.
    """
    installs = list(_installs(found, named)) if named else []
    if not installs:
        return list(found), []
    users = Counter(path for each in named for path in set(each.values))
    handled = Counter(_file(layer) for each in installs for layer in each.layers)
    parts: dict[int, Release] = {}
    made: dict[int, Release] = {}
    for application, layers in installs:
        made[id(layers[-1])] = _release(application, layers)
        parts[id(application)] = application
        parts |= {
            id(layer): layer
            for layer in layers[:-1]
            if users[_file(layer)] == handled[_file(layer)]
        }
    kept = [made.get(id(item), item) for item in found if id(item) not in parts]
    return kept, list(values_of_files([each for each in parts.values() if each.values]))


def _installs(found: Sequence[Item], named: Sequence[Install]) -> Iterator[_Whole]:
    users = Counter(path for each in named for path in set(each.values))
    of_files: dict[str, list[Release]] = {}
    for item in found:
        if isinstance(item, Release):
            of_files.setdefault(_file(item), []).append(item)
    for file, name, paths in named:
        layers = [of_files.get(path, []) for path in paths]
        if users[paths[-1]] > 1 or any(len(each) != 1 for each in layers):
            continue
        whole = tuple(each[0] for each in layers)
        chart = whole[-1].chart
        made = [
            each
            for each in of_files.get(file, ())
            if each.chart == chart and name in ("", each.name)
        ]
        if len(made) == 1:
            yield _Whole(made[0], whole)


def _release(application: Release, layers: Sequence[Release]) -> Release:
    values: dict[str, Any] = {}
    for each in layers:
        values = merge_values(values, dict(pairs(each.values)), keep_null=True)
    own = application.values
    over = application.over if own is UNKNOWN else own
    last = layers[-1]
    return replace(
        last,
        values=merge_values(values, dict(pairs(over)), keep_null=True),
        own=dict(pairs(last.values)),
        name=application.name,
        namespace=application.namespace,
        cluster=application.cluster,
    )


def _file(item: Item) -> str:
    return posixpath.normpath(item.source.file)


def with_applications_of_folders(found: Sequence[Item], folders: Collection[str]) -> list[Item]:
    """The items, with what applications of Argo CD give the charts that they install from folders.

    Such values and parameters go over those in the chart's folder, from
    https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence.

    Args:
        found: All items.
        folders: Those of charts that bring others along.
    """
    given: dict[str, list[dict[str, Any]]] = {}
    for item in found:
        if not isinstance(item, Pointer) or item.kind != "Application":
            continue
        for source in (at(item.spec, "source"), *items(at(item.spec, "sources"))):
            path, helm = at(source, "path"), at(source, "helm")
            named = posixpath.normpath(path) if isinstance(path, str) else "."
            meant = [each for each in folders if f"/{each}".endswith(f"/{named}")]
            if len(meant) == 1 and named != ".":
                given.setdefault(meant[0], []).append(_said(helm))
    made = ((item, given.get(posixpath.dirname(_file(item)), [])) for item in found)
    return [_under(item, told) if isinstance(item, Release) else item for item, told in made]


def _said(helm: Any) -> dict[str, Any]:
    """What an application says by itself; of its files others tell."""
    values = at(helm, "valuesObject") or at(helm, "values")
    if isinstance(values, str):
        documents = read_texts(values, "").documents
        values = documents[0].value if documents else None
    made = merge_values({}, dict(pairs(values)), keep_null=True)
    for each in items(at(helm, "parameters")):
        name, value = at(each, "name"), at(each, "value")
        if isinstance(name, str):
            strings = at(each, "forceString") is True
            for setting in settings(f"{name}={text(value)}", strings=strings):
                put(made, setting.path, UNKNOWN if value is UNKNOWN else setting.value)
    return made


def _under(item: Release, told: Sequence[dict[str, Any]]) -> Release:
    """Values of a chart with what its applications say; where these differ it is not known."""
    file = posixpath.basename(_file(item))
    parts = [at(each, *item.source.path) for each in told if item.source.path]
    known = [dict(pairs(each)) for each in parts]
    if item.name is not UNKNOWN or item.values is UNKNOWN or not any(known):
        return item
    if not file.startswith("values."):
        return item
    over = known[0] if all(each == known[0] for each in known) else {}
    for each in filter(None, known) if not over else ():
        over = merge_values(over, _not_known(each), keep_null=True)
    own = dict(pairs(item.values)) if item.own is None else item.own
    return replace(item, values=merge_values(item.values, over, keep_null=True), own=own)


def _not_known(value: Any) -> Any:
    """A value of which only the keys are known."""
    return {key: _not_known(each) for key, each in pairs(value)} if pairs(value) else UNKNOWN
