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
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import pairs
from eks_gpushare.manifests.checks.charts.chart_values import values_of_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
