"""Values of a release that stand in several places, not all of which are among the files.

Sources: https://fluxcd.io/flux/components/helm/helmreleases/#values, and
`HelmChartInflationGenerator.go` of kubernetes-sigs/kustomize (November 2026).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.helm import merge_values
from eks_gpushare.inventory.items import Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import PartlyKnown, at, items, pairs, partly_known
from eks_gpushare.inventory.values import text as scalar
from eks_gpushare.manifests.charts import chart_named
from eks_gpushare.manifests.kustomize_charts import Layered
from eks_gpushare.manifests.readers.values import mappings, text
from eks_gpushare.manifests.rules.chart_values import VALUES_ELSEWHERE
from eks_gpushare.manifests.shell.set_values import put, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Release
    from eks_gpushare.manifests.document import Document

_MOST = 6
"""Values that a message lists."""


_PATCHED: Final = {
    "tolerations": ("tolerations", "daemonsets"),
    "nodeSelector": ("nodeSelector",),
    "affinity": ("affinity",),
}
"""Values that charts have for fields of their DaemonSets, by the fields."""
_OF_VALUES: Final = ("DaemonSet", "ClusterPolicy")
"""Kinds that charts make of values: what patches them after Helm may say what these leave out."""


def unless_elsewhere(item: Release) -> Release:
    """A release that has values from other places too, over which its own go."""
    return replace(item, values=partly_known(item.values) if item.values else UNKNOWN)


def unless_patched(item: Release, patches: Any) -> Release:
    """A release whose objects may be patched in what its values would say.

    Args:
        item: The release.
        patches: What is applied to what the chart makes.
    """
    said = str(patches)
    if not any(kind in said for kind in _OF_VALUES):
        return item
    item = unless_elsewhere(item)
    # What a file has is not seen here.
    words = [word for word in _PATCHED if word in said or "'path'" in said]
    gone = {key: UNKNOWN for word in words for key in _PATCHED[word]}
    values = item.values
    return item if values is UNKNOWN else replace(item, values=type(values)({**values, **gone}))  # type: ignore[call-arg]


def with_values_from(item: Release, sources: Any) -> Release:
    """A release of Flux with what it takes from ConfigMaps and Secrets.

    Its own values go over those. One that is for a single path leaves the rest as it is.
    """
    given = items(sources)
    paths = [at(patch, "targetPath") for patch in given]
    if sources is UNKNOWN or UNKNOWN in paths or not all(paths):
        return unless_elsewhere(item)
    if not given:
        return item
    below: dict[str, Any] = {}
    for path in paths:
        for setting in settings(f"{path}=x"):
            put(below, setting.path, UNKNOWN)
    if not isinstance(item.values, dict):
        return item
    return replace(item, values=merge_values(below, item.values, keep_null=True))


def with_files(item: Release, chart: Mapping[str, Any]) -> Release:
    """A release of Kustomize whose file of values is not among the files, or has been read."""
    values = chart.get("valuesInline")
    if isinstance(values, Layered):
        return replace(item, own=values.own)
    if items(chart.get("additionalValuesFiles")):
        return replace(item, values=UNKNOWN)  # they go over all others
    if "valuesFile" not in chart or (item.values and chart.get("valuesMerge") == "replace"):
        return item
    if item.values and chart.get("valuesMerge") == "merge":
        return replace(item, values=UNKNOWN, own=None)
    return unless_elsewhere(item)


def with_parameters(
    item: Release, document: Document, place: FieldPath, parameters: Any, below: FieldPath
) -> Release:
    """A release with parameters, which go over all other values as those of `helm --set` do.

    Args:
        item: The release.
        document: Where it was read.
        place: What its values and its parameters stand below.
        parameters: Each with its name and value.
        below: Where the parameters stand there.
    """
    given: dict[str, Any] = {}
    paths: dict[tuple[str, ...], FieldPath] = {}
    for index, parameter in mappings(parameters):
        name, value = parameter.get("name"), parameter.get("value")
        if not isinstance(name, str) or value is None:
            continue
        strings = parameter.get("forceString") is True
        for setting in settings(f"{name}={scalar(value)}", strings=strings):
            put(given, setting.path, UNKNOWN if value is UNKNOWN else setting.value)
            steps = tuple(str(step) for step in setting.path)
            for length, _ in enumerate(steps, 1):
                is_list = isinstance(at(document.value, *place, *below), list)
                where = (*below, index, "name") if is_list else (*below, name)
                paths[steps[:length]] = where
    if not given:
        return item
    if not isinstance(item.values, dict):
        return replace(item, over=given)
    own = {key: (*item.source.path[len(place) :], *path) for key, path in item.paths.items()}
    values = merge_values(item.values, given)
    if isinstance(item.values, PartlyKnown):
        values = partly_known(values)
    if item.source.document is not document:  # a text within, which has places of its own
        return replace(item, values=values)
    above = item.source.path[len(place) :]
    source = replace(item.source, path=place)
    return replace(item, values=values, source=source, paths={(): above, **own, **paths})


def applications(document: Document) -> Iterator[Pointer]:
    """An application of Argo CD itself, with what it says of the folder that it is made of."""
    if at(document.value, "kind") == "Application":
        name, spec = text(at(document.value, "metadata", "name")), at(document.value, "spec")
        source = Source(f"the Application {name}", document)
        yield Pointer(source=source, kind="Application", name=name, spec=spec)


def elsewhere(document: Document) -> Iterator[Problem]:
    """What is said of values beside which there are others."""
    value = document.value
    kind = value.get("kind")
    if kind == "HelmRelease":
        spec = at(value, "spec", "chart", "spec") or at(value, "spec", "chart")
        if chart_named(at(spec, "chart") or at(spec, "name")) and at(value, "spec", "values"):
            sources = ", ".join(_source(item) for item in items(at(value, "spec", "valuesFrom")))
            yield from _told(document, ("spec", "valuesFrom"), sources, at(value, "spec", "values"))
    elif kind == "Application":
        for place in _argo_places(value):
            helm = at(value, *place, "helm")
            own = at(helm, "valuesObject") or at(helm, "values") or at(helm, "parameters")
            files = ", ".join(str(file) for file in items(at(helm, "valueFiles")))
            chart = chart_named(at(value, *place, "chart") or at(value, *place, "path"))
            if chart and own:
                yield from _told(document, (*place, "helm", "valueFiles"), files, own)
    else:
        for index, each in mappings(value.get("helmCharts")):
            inline = each.get("valuesInline")
            if chart_named(each.get("name")) and inline and not isinstance(inline, Layered):
                named = [each.get("valuesFile"), *items(each.get("additionalValuesFiles"))]
                listed = ", ".join(str(one) for one in named if one)
                if each.get("valuesMerge") != "replace" or len(named) > 1:
                    yield from _told(document, ("helmCharts", index, "valuesFile"), listed, inline)


def _argo_places(value: Mapping[str, Any]) -> list[FieldPath]:
    several = [("spec", "sources", n) for n, _ in mappings(at(value, "spec", "sources"))]
    return [("spec", "source"), *several]


def _source(given: Any) -> str:
    kind, name, path = (at(given, key) for key in ("kind", "name", "targetPath"))
    kind = "resource" if kind is UNKNOWN else kind
    called = f"the {kind} {name}" if name is not UNKNOWN else f"a {kind}"
    return f"{path} of {called}" if path and path is not UNKNOWN else called


def _told(document: Document, place: FieldPath, sources: str, own: Any) -> Iterator[Problem]:
    if not sources:
        return
    known = [".".join(path) for path in _leaves(own)]
    listed = ", ".join(known[:_MOST]) + (", ..." if len(known) > _MOST else "")
    yield Problem(
        VALUES_ELSEWHERE,
        Source("the release", document),
        place,
        f"Further values come from {sources}: nothing is known of those but {listed or 'none'}.",
        "Give what it is made of: helm template CHART -f ... | eks-gpushare lint -",
    )


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not pairs(value):
        if path:
            yield path
        return
    for key, inner in pairs(value):
        yield from _leaves(inner, (*path, key))
