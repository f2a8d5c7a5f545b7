"""Applications of Argo CD, releases of Helmfile and commands with values in files: one of all.

Later files go over earlier ones, and values of the application itself over those of all files,
https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence; November 2026. So
do those of Helmfile that are written after its files, and what a command sets beside its files,
https://helm.sh/docs/helm/helm_install/.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.items import Pointer, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.lint.variants import if_installed, is_loose
from eks_gpushare.manifests.checks.charts.chart_values import values_of_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.folders import ends_with
from eks_gpushare.manifests.shell.set_values import put, settings
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

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
    users = _users(named)
    installs = list(_installs(found, named, users)) if named else []
    if not installs:
        return list(found), []
    handled = Counter(path for each in set(map(_paths, installs)) for path in set(each))
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


def _users(named: Sequence[Install]) -> Counter[str]:
    """How many take a file; two commands that install a name with the same files are one."""
    each = {(one.name or one.file, one.values) for one in named}
    return Counter(path for _, paths in each for path in set(paths))


def _paths(whole: _Whole) -> tuple[str, ...]:
    return tuple(map(_file, whole.layers))


def _installs(
    found: Sequence[Item], named: Sequence[Install], users: Counter[str]
) -> Iterator[_Whole]:
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
    values = _one_over_the_other(layers)
    own = application.values
    over = application.over if own is UNKNOWN else own
    last = if_installed(layers[-1], application)
    whole = merge_values(values, dict(pairs(over)), keep_null=True)
    made = replace(last, values=whole, own=dict(pairs(last.values)))
    return replace(
        _not_edited(last, whole) if layers[1:] else made,
        name=application.name,
        version=last.version or application.version,
        namespace=application.namespace,
        cluster=application.cluster,
    )


def with_values_of_sets(
    found: Sequence[Item], layered: Sequence[tuple[str, ...]]
) -> tuple[list[Item], list[Judgement]]:
    """The items, with values of files that sets take over others merged with these.

    Those that always have others over them are no release by themselves; what is wrong in them
    comes beside. A file that lies over others for one application, and alone or over further ones
    for another, is left as it is.

    Args:
        found: All items.
        layered: The files that applications take, the later over the earlier.
    """
    over: dict[str, set[tuple[str, ...]]] = {}
    for paths in layered:
        over.setdefault(paths[-1], set()).add(paths)
    of_files: dict[str, list[Release]] = {}
    for item in found if layered else ():
        if isinstance(item, Release):
            of_files.setdefault(_file(item), []).append(item)
    made: dict[int, Release] = {}
    beneath: dict[int, Release] = {}
    for paths in (min(ways) for ways in over.values() if len(ways) == 1):
        layers = [several[0] for path in paths if len(several := of_files.get(path, [])) == 1]
        if 1 < len(layers) == len(paths) and _are_layers(layers):
            made[id(layers[-1])] = _not_edited(layers[-1], _one_over_the_other(layers))
            beneath |= {id(each): each for each in layers[:-1] if _file(each) not in over}
    kept = [made.get(id(item), item) for item in found if id(item) not in beneath]
    return kept, list(values_of_files(list(beneath.values())))


def _one_over_the_other(layers: Iterable[Release]) -> dict[str, Any]:
    """The values of all, the later over the earlier."""
    values: dict[str, Any] = {}
    for each in layers:
        values = merge_values(values, dict(pairs(each.values)), keep_null=True)
    return values


def _are_layers(several: Sequence[Release]) -> bool:
    """Whether files of values are for one chart, and nothing else was made of them."""
    charts = {each.chart for each in several}
    return len(charts) == 1 and all(is_loose(each) and each.own is None for each in several)


_BASE: Final = re.compile(r"(?:.*[-._])?values", re.IGNORECASE)
"""How files of values are called, before their ending."""


def with_values_beneath(
    found: Sequence[Item], named: Sequence[Install]
) -> tuple[list[Item], list[Judgement]]:
    """The items, with values of `values-NAME.yaml` over those of `values.yaml` beside it.

    That is how files for one environment are called that go over those for all, as in
    https://helm.sh/docs/chart_template_guide/values_files/. The latter are then no release by
    themselves; what is wrong in them comes beside. A file that something installs alone is.

    Args:
        found: All items.
        named: What is installed with values of files.
    """
    alone = {each.values[0] for each in named if len(each.values) == 1}
    loose: dict[tuple[str, ...], Release] = {}
    for item in found:
        if isinstance(item, Release) and is_loose(item) and item.own is None:
            loose[_stem(item), item.chart, *map(str, item.source.path)] = item
    made: dict[int, Release] = {}
    beneath: dict[int, Release] = {}
    for (stem, *rest), item in loose.items():
        ends = [number for number, sign in enumerate(stem) if sign in "-._"]
        bases = [stem[:end] for end in ends if _BASE.fullmatch(posixpath.basename(stem[:end]))]
        base = next((loose[each, *rest] for each in bases if (each, *rest) in loose), None)
        if base is not None and _file(item) not in alone:
            made[id(item)] = _not_edited(item, _one_over_the_other((base, item)))
            if _file(base) not in alone:
                beneath[id(base)] = base
    kept = [made.get(id(item), item) for item in found if id(item) not in beneath]
    return kept, list(values_of_files(list(beneath.values())))


def _stem(item: Item) -> str:
    return posixpath.splitext(_file(item))[0]


def _not_edited(item: Release, values: dict[str, Any]) -> Release:
    """Values with those of other files, in one of which a fix may belong."""
    document = item.source.document
    if isinstance(document, Document):
        document = replace(document, editable=False)
    source = replace(item.source, document=document)
    return replace(item, source=source, values=values, own=dict(pairs(item.values)))


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
            meant = [each for each in folders if ends_with(each, named)]
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
