"""What stands for a chart that is installed: of Flux, Argo CD, k3s, Kustomize, Helmfile."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import ConfigMap
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, pairs, partly_known
from eks_gpushare.inventory.values import items as items_of
from eks_gpushare.manifests.application_sets import TEMPLATE, applications_of, name_of
from eks_gpushare.manifests.charts import (
    OPERATOR,
    chart_named,
    documents_at,
    release,
    version_of,
    within_values,
)
from eks_gpushare.manifests.cluster_generators import clusters_chosen, of_some_clusters
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.kustomize_files import is_kustomization
from eks_gpushare.manifests.readers.helmfile import FURTHER_VALUES, is_helmfile, where_installed
from eks_gpushare.manifests.readers.lists import is_raw
from eks_gpushare.manifests.readers.literals import literal_documents
from eks_gpushare.manifests.readers.prometheus_rules import SERVER_FILES
from eks_gpushare.manifests.readers.values import mappings, text
from eks_gpushare.manifests.readers.values_elsewhere import (
    applications,
    elsewhere,
    unless_elsewhere,
    unless_patched,
    with_files,
    with_parameters,
    with_values_from,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item, Release
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document

_KINDS: Final = {
    "HelmRelease": ("helm.toolkit.fluxcd.io", "helm.fluxcd.io"),
    "Application": ("argoproj.io",),
    "ApplicationSet": ("argoproj.io",),
    "HelmChartInflationGenerator": ("builtin",),
    "HelmChart": ("helm.cattle.io",),
    "Kustomization": ("kustomize.config.k8s.io",),
    "ClusterPolicy": ("nvidia.com",),
}
_FOLDERS: Final = ("GitRepository", "Bucket")
"""Flux's sources in which a chart is a folder."""
_PUBLISHED: Final = re.compile(r"(?:^|/)deployments?/")
"""Where NVIDIA's repositories have their charts."""
_READ_BY_THEMSELVES: Final = (
    *("servingEngineSpec", "singleuser", "controllers", "ollama", SERVER_FILES),
)
"""Keys of values of charts of others that are read as the pods that are made of them: vLLM's
production stack, JupyterHub, app-template and Ollama; and as rules of Prometheus."""
_VALUES: Final[tuple[tuple[str, ...], ...]] = (
    ("spec", "values"),
    ("spec", "valuesContent"),
    ("spec", "source", "helm", "values"),
    ("spec", "source", "helm", "valuesObject"),
)
_MORE: Final[tuple[tuple[str, ...], ...]] = (
    ("spec", "valuesFrom"),
    ("spec", "set"),
    ("spec", "source", "helm", "parameters"),
    ("spec", "source", "helm", "valueFiles"),
)
"""Where further values are, beside which those are not all."""


class HelmObjectReader:
    """Knows them by kind and group."""

    name = "Kubernetes"

    def matches(self, document: Document) -> bool:
        """Whether it is one of these."""
        value = document.value
        if not isinstance(value, dict):
            return False
        if is_kustomization(document) or is_helmfile(value) or _is_of_a_policy(document):
            return True
        groups = _KINDS.get(str(value.get("kind")), ())
        return str(value.get("apiVersion")).partition("/")[0] in groups

    def read(self, document: Document) -> Read:
        """The releases, and the configurations within their values."""
        items: list[Item] = []
        inner: list[Document] = []
        is_known = False
        for item, within in _releases(document):
            items.append(item)
            inner += within
            is_known = is_known or chart_keys(item.chart) is not None
        if is_kustomization(document):
            items += _generated(document)
            inner += literal_documents(document)
        inner += _raw(document) if is_known else _of_others(document)
        items += applications(document)
        return Read(items=items, inner=inner, judgements=list(elsewhere(document)))


def _is_of_a_policy(document: Document) -> bool:
    """Whether a guide shows that part of a ClusterPolicy which names configurations, by itself."""
    value = document.value
    shown = isinstance(value, dict) and set(value) == {"spec"} and is_guide(document.file)
    return shown and isinstance(at(value, "spec", "devicePlugin", "config"), dict)


def _raw(document: Document) -> Iterator[Document]:
    """Objects that a helmfile's releases give as they are."""
    for index, each in mappings(document.value.get("releases")):
        for number, one in mappings(each.get("values")):
            if is_raw(one):
                yield document.inside(("releases", index, "values", number), one)


def _of_others(document: Document) -> Iterator[Document]:
    """Values of charts of others that are read by themselves, where they are all that there are."""
    yield from _raw(document)
    if any(at(document.value, *path) for path in _MORE):
        return
    for path in _VALUES:
        given = at(document.value, *path)
        if isinstance(given, str) and given:
            found = documents_at(document, path, given)
        else:
            found = (document.inside(path, given),)
        yield from (one for one in found if is_read_by_itself(one.value))


def is_read_by_itself(values: Any) -> bool:
    """Whether values are those of a chart of others of which pods, rules or objects are read."""
    told = any(isinstance(at(values, key), dict) for key in _READ_BY_THEMSELVES)
    return told or is_raw(values)


def _releases(document: Document) -> Iterator[tuple[Release, list[Document]]]:
    value = document.value
    name = text(at(value, "metadata", "name"))
    match value.get("kind"):
        case _ if _is_of_a_policy(document):
            item, inner = _at(document, OPERATOR, ("spec",), UNKNOWN, UNKNOWN, UNKNOWN)
            yield replace(item, values=partly_known(item.values)), inner
        case "ClusterPolicy":
            yield _at(document, OPERATOR, ("spec",), name, UNKNOWN, "")
        case "HelmRelease":
            yield from _flux(document, value, name)
        case "HelmChart":
            yield from _k3s(document, value, name)
        case "Application":
            yield from _argo(document, value, name, ("spec",))
        case "ApplicationSet":
            yield from _of_set(document, value, name)
        case "HelmChartInflationGenerator":
            yield from _inflated(document, (), value)
        case _ if is_helmfile(value):
            yield from _helmfile(document, value)
        case _:
            for index, chart in mappings(value.get("helmCharts")):
                yield from _inflated(document, ("helmCharts", index), chart)


def _of_set(
    document: Document, value: Mapping[str, Any], name: Maybe[str]
) -> Iterator[tuple[Release, list[Document]]]:
    """What all applications of a set install, and what each does by its parameters."""
    if of_some_clusters(value):
        document = replace(document, is_optional=True, condition=clusters_chosen(document))
    yield from _argo(document, value, name, TEMPLATE)
    for made in applications_of(document):
        yield from _argo(made, made.value, text(name_of(made, ())), TEMPLATE)


def _space_of(value: Mapping[str, Any]) -> Maybe[str]:
    """Where a chart goes; not known without a namespace, which Flux or kubectl add then."""
    own = text(at(value, "metadata", "namespace"), "") or UNKNOWN
    return text(at(value, "spec", "targetNamespace"), "") or own


def _flux(
    document: Document, value: Mapping[str, Any], name: Maybe[str]
) -> Iterator[tuple[Release, list[Document]]]:
    spec = at(value, "spec", "chart", "spec") or at(value, "spec", "chart")
    if at(value, "spec", "suspend") is True:  # it may never have been installed
        document = replace(document, is_optional=True)
    # A source that is one chart is called like it, or like what app-template is to install.
    alone = at(value, "spec", "chartRef", "name")
    chart = chart_named(at(spec, "chart") or at(spec, "name") or alone)
    if chart and not (alone and isinstance(at(value, "spec", "values", "controllers"), dict)):
        path: FieldPath = ("spec", "values")
        space = _space_of(value)
        in_folder = at(spec, "sourceRef", "kind") in _FOLDERS
        if in_folder:
            path = _below(value, path, chart)
        version = at(spec, "version") if alone is None else UNKNOWN
        item, inner = _at(document, chart, path, name, space, version)
        if in_folder:
            item = _of_folder(item, str(at(spec, "chart")))
        item = with_values_from(item, at(value, "spec", "valuesFrom"))
        yield unless_patched(item, at(value, "spec", "postRenderers")), inner


def _below(value: Any, path: FieldPath, chart: str) -> FieldPath:
    """Where the chart's own values stand in those of a chart of one's own around it, if it is."""
    return (*path, chart) if isinstance(at(value, *path, chart), dict) else path


def _of_folder(item: Release, folder: str) -> Release:
    """A release of a chart in a folder of a repository, which is called like a published one.

    It is one's own around that, with further values of its own, or a copy of it, which has the
    values that are written, if they are those of the published one.
    """
    if item.source.path[-1:] == (item.chart,):
        return unless_elsewhere(item)
    keys = chart_keys(item.chart)
    is_copy = keys is not None and any(keys.kind((str(key),)) for key, _ in pairs(item.values))
    return item if is_copy or _PUBLISHED.search(folder) else replace(item, values=UNKNOWN)


def _k3s(
    document: Document, value: Mapping[str, Any], name: Maybe[str]
) -> Iterator[tuple[Release, list[Document]]]:
    chart = chart_named(at(value, "spec", "chart"))
    if not chart:
        return
    space = _space_of(value)
    version = version_of(at(value, "spec", "chart"), at(value, "spec", "version"))
    content = ("spec", "valuesContent")
    if at(value, *content):
        found = list(_in_text(document, chart, content, name, space, version))
    else:
        found = [_at(document, chart, ("spec", "values"), name, space, version)]
    given = [{"name": key, "value": pair} for key, pair in pairs(at(value, "spec", "set"))]
    group, _, _ = str(value.get("apiVersion")).rpartition("/")
    for item, inner in found:
        told = replace(item, installer=group)
        yield with_parameters(told, document, ("spec",), given, ("set",)), inner


_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")


def _inflated(
    document: Document, place: FieldPath, chart: Mapping[str, Any]
) -> Iterator[tuple[Release, list[Document]]]:
    """A chart that Kustomize inflates."""
    named = chart_named(chart.get("name"))
    if named:
        space, called = text(chart.get("namespace"), "default"), text(chart.get("releaseName"))
        path = (*place, "valuesInline")
        item, inner = _at(document, named, path, called, space, chart.get("version"))
        patches = [document.value.get(key) for key in _PATCHES]
        yield unless_patched(with_files(item, chart), patches), inner


def _helmfile(
    document: Document, value: Mapping[str, Any]
) -> Iterator[tuple[Release, list[Document]]]:
    """Releases with values that are written in it, files of values beside them."""
    for index, each in mappings(value.get("releases")):
        chart = chart_named(each.get("chart"))
        if not chart or each.get("installed") is False:
            continue
        place: FieldPath = ("releases", index)
        name, space = text(each.get("name")), text(each.get("namespace"), "default")
        path: FieldPath = (*place, "values")
        whence = where_installed(document, index, each)
        version = version_of(each.get("chart"), each.get("version"))
        item, _ = _at(whence, chart, path, name, space, version)
        values: dict[str, Any] = {}
        paths: dict[tuple[str, ...], FieldPath] = {}
        inner: list[Document] = []
        listed = each.get("values")
        for number, one in mappings(listed):
            values = merge_values(values, one, keep_null=True)
            paths |= {(key,): (number, key) for key in one}
            inner += within_values(document, (*path, number))
        item = replace(item, values=values, paths=paths)
        files = any(not isinstance(one, dict) for one in items_of(listed))
        if files or listed is UNKNOWN or any(each.get(key) for key in FURTHER_VALUES):
            item = unless_elsewhere(item)
        yield with_parameters(item, document, place, each.get("set"), ("set",)), inner


def _argo(
    document: Document, value: Mapping[str, Any], name: Maybe[str], above: FieldPath
) -> Iterator[tuple[Release, list[Document]]]:
    space = text(at(value, *above, "destination", "namespace"), "default")
    places: list[FieldPath] = [(*above, "source")]
    places += [(*above, "sources", n) for n, _ in mappings(at(value, *above, "sources"))]
    for place in places:
        source = at(value, *place)
        chart = chart_named(at(source, "chart") or at(source, "path"))
        if not chart or (at(source, "chart") is None and at(source, "helm") is None):
            continue  # a folder of manifests may be called like a chart
        version = at(source, "targetRevision")
        # Helm has it by the Application's name unless it is told another.
        called = text(at(source, "helm", "releaseName"), "") or name
        if at(source, "helm", "valuesObject") is not None:
            path = (*place, "helm", "valuesObject")
            if at(source, "chart") is None:
                path = _below(value, path, chart)
            made = [_at(document, chart, path, called, space, version)]
        elif isinstance(at(source, "helm", "values"), str):
            path = (*place, "helm", "values")
            made = list(_in_text(document, chart, path, called, space, version))
        else:
            path = (*place, "helm", "values")
            made = [_at(document, chart, path, called, space, version)]
        if at(source, "chart") is None:
            made = [(_of_folder(item, str(at(source, "path"))), inner) for item, inner in made]
        if at(source, "helm", "valueFiles"):
            made = [(unless_elsewhere(item), inner) for item, inner in made]
        parameters = at(source, "helm", "parameters")
        names = [str(at(each, "name")) for each in items_of(parameters)]
        if at(source, "chart") is None and any(name.startswith(f"{chart}.") for name in names):
            parameters = None  # of a chart of one's own around it, with those in its folder
        yield from (
            (with_parameters(release, document, place, parameters, ("helm", "parameters")), inner)
            for release, inner in made
        )


def _at(
    document: Document,
    chart: str,
    path: FieldPath,
    name: Maybe[str],
    namespace: Maybe[str],
    version: Any,
) -> tuple[Release, list[Document]]:
    values = at(document.value, *path)
    item = release(
        document, chart, values, name=name, namespace=namespace, version=version, path=path
    )
    return item, list(within_values(document, path))


def _generated(document: Document) -> Iterator[ConfigMap]:
    """ConfigMaps that Kustomize makes; it corrects references to their names, with a hash in them.

    Of files only the keys are known here: what is in them is read where they are given too.
    """
    value = document.value
    for index, generator in mappings(value.get("configMapGenerator")):
        name = text(generator.get("name"))
        space = text(generator.get("namespace") or value.get("namespace")) or UNKNOWN
        data: dict[str, Any] = {}
        for literal in _texts(generator.get("literals")):
            key, _, content = literal.partition("=")
            data[key] = content if "\n" in content else content.strip("\"'")
        for file in _texts(generator.get("files")):
            key, equals, _ = file.partition("=")
            data[key if equals else PurePosixPath(key).name] = UNKNOWN
        yield ConfigMap(
            source=Source(f"the ConfigMap {name}", document, ("configMapGenerator", index)),
            name=name,
            namespace=space,
            # Of a file of variables the keys are not known.
            data=UNKNOWN if generator.get("envs") or generator.get("env") else data,
        )


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _in_text(
    document: Document,
    chart: str,
    path: FieldPath,
    name: Maybe[str],
    namespace: Maybe[str],
    version: Any,
) -> Iterator[tuple[Release, list[Document]]]:
    for inner in documents_at(document, path, at(document.value, *path))[:1]:
        yield _at(inner, chart, (), name, namespace, version)
