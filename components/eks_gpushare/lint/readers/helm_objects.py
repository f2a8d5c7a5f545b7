"""Objects that stand for a release of a chart: of Flux, Argo CD, k3s, Kustomize, the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.document import Read
from eks_gpushare.lint.readers.charts import OPERATOR, chart_named, release, within_values
from eks_gpushare.lint.readers.values import at, mappings, text
from eks_gpushare.lint.texts import texts_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.lint.document import Document

_KINDS: Final = {
    "HelmRelease": ("helm.toolkit.fluxcd.io", "helm.fluxcd.io"),
    "Application": ("argoproj.io",),
    "HelmChart": ("helm.cattle.io",),
    "Kustomization": ("kustomize.config.k8s.io",),
    "ClusterPolicy": ("nvidia.com",),
}


class HelmObjectReader:
    """Knows them by kind and group."""

    name = "Kubernetes"

    def matches(self, document: Document) -> bool:
        """Whether it is one of these."""
        value = document.value
        if not isinstance(value, dict):
            return False
        groups = _KINDS.get(str(value.get("kind")), ())
        return str(value.get("apiVersion")).partition("/")[0] in groups

    def read(self, document: Document) -> Read:
        """The releases, and the configurations within their values."""
        items: list[Item] = []
        inner: list[Document] = []
        for item, within in _releases(document):
            items.append(item)
            inner += within
        return Read(items=items, inner=inner)


def _releases(document: Document) -> Iterator[tuple[Item, list[Document]]]:
    value = document.value
    name = text(at(value, "metadata", "name"))
    space = text(at(value, "metadata", "namespace"), "default")
    match value["kind"]:
        case "ClusterPolicy":
            yield _at(document, OPERATOR, ("spec",), name, UNKNOWN, "")
        case "HelmRelease":
            spec = at(value, "spec", "chart", "spec") or at(value, "spec", "chart")
            chart = chart_named(at(spec, "chart") or at(spec, "name"))
            if chart:
                space = text(at(value, "spec", "targetNamespace"), "") or space
                yield _at(document, chart, ("spec", "values"), name, space, at(spec, "version"))
        case "HelmChart":
            chart = chart_named(at(value, "spec", "chart"))
            if chart:
                space = text(at(value, "spec", "targetNamespace"), "") or space
                version = at(value, "spec", "version")
                path = ("spec", "valuesContent")
                yield from _in_text(document, chart, path, name, space, version)
        case "Application":
            yield from _argo(document, value, name)
        case _:
            for index, each in mappings(value.get("helmCharts")):
                chart = chart_named(each.get("name"))
                if chart:
                    path = ("helmCharts", index, "valuesInline")
                    given = text(each.get("namespace"), "default")
                    called = text(each.get("releaseName"))
                    yield _at(document, chart, path, called, given, each.get("version"))


def _argo(
    document: Document, value: Mapping[str, Any], name: Maybe[str]
) -> Iterator[tuple[Item, list[Document]]]:
    space = text(at(value, "spec", "destination", "namespace"), "default")
    places: list[FieldPath] = [("spec", "source")]
    places += [("spec", "sources", n) for n, _ in mappings(at(value, "spec", "sources"))]
    for place in places:
        source = at(value, *place)
        chart = chart_named(at(source, "chart") or at(source, "path"))
        if not chart:
            continue
        version = at(source, "targetRevision")
        if at(source, "helm", "valuesObject") is not None:
            path = (*place, "helm", "valuesObject")
            yield _at(document, chart, path, name, space, version)
        elif isinstance(at(source, "helm", "values"), str):
            path = (*place, "helm", "values")
            yield from _in_text(document, chart, path, name, space, version)
        else:
            yield _at(document, chart, (*place, "helm", "values"), name, space, version)


def _at(
    document: Document,
    chart: str,
    path: FieldPath,
    name: Maybe[str],
    namespace: Maybe[str],
    version: Any,
) -> tuple[Item, list[Document]]:
    values = at(document.value, *path)
    item = release(
        document, chart, values, name=name, namespace=namespace, version=version, path=path
    )
    return item, list(within_values(document, path))


def _in_text(
    document: Document,
    chart: str,
    path: FieldPath,
    name: Maybe[str],
    namespace: Maybe[str],
    version: Any,
) -> Iterator[tuple[Item, list[Document]]]:
    texts = texts_within(document, path)
    for inner in texts.documents[:1] if texts else ():
        yield _at(inner, chart, (), name, namespace, version)
