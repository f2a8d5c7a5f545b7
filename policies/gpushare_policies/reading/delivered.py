"""Charts that a controller in the cluster installs, as `helm.v3.Release` would say them.

A HelmRelease of Flux or k3s' HelmChart names a chart and has its values, an Application of Argo CD
several of them. What stands in files elsewhere is not known.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import peek
from gpushare_policies.reading.charts import CHART_TOKENS, GPU_CHARTS, chart_name, charts_of, loaded
from gpushare_policies.reading.objects import Kind, KubernetesObject, kind_of, objects_of
from gpushare_policies.reading.plain import items, mappings, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi_policy import PolicyResource

_FLUX, _K3S = Kind("helm.toolkit.fluxcd.io", "HelmRelease"), Kind("helm.cattle.io", "HelmChart")
_ARGO, _ARGO_SET = Kind("argoproj.io", "Application"), Kind("argoproj.io", "ApplicationSet")
_HERE = ("https://kubernetes.default.svc", "in-cluster")
"""Server and name by which Argo CD knows the cluster that it runs in."""
DELIVERING = (_FLUX, _K3S, _ARGO, _ARGO_SET)
"""Kinds that have a controller install charts."""


@cache
def delivers_charts(token: str) -> bool:
    """Whether resources of a type have a controller install charts."""
    found = kind_of(token)
    return found is not None and found[0] in DELIVERING


def charts_delivered(token: str, props: Any) -> Iterator[dict[str, Any]]:
    """The properties that a Release would have of each chart of a resource."""
    for obj in objects_of(token, props) if delivers_charts(token) else ():
        yield from _charts(obj)


def charts_named(resource: PolicyResource) -> Iterator[str]:
    """The charts that a resource installs by itself or by a controller, as it names them."""
    token, props = resource.resource_type, resource.props
    if token in CHART_TOKENS:
        yield str(peek(props, "chart") or "")
    yield from (str(made.get("chart") or "") for made in charts_delivered(token, props))


def values_of_pods(resource: PolicyResource) -> Iterator[Any]:
    """The values of the charts that a resource installs, of those that are not for nodes alone."""
    token, props = resource.resource_type, resource.props
    if token in CHART_TOKENS:
        yield from (chart.values for chart in charts_of(props) if not chart.of_gpus)
    for made in charts_delivered(token, props):
        if chart_name(made.get("chart")) not in GPU_CHARTS:
            yield made.get("values")


def installs_here(resource: PolicyResource) -> bool:
    """Whether the charts of a resource go into the cluster that it is in itself."""
    token, props = resource.resource_type, resource.props
    for obj in objects_of(token, props) if delivers_charts(token) else ():
        spec = at(obj.body, "spec")
        spec = at(spec, "template", "spec") if obj.kind == _ARGO_SET else spec
        there = [at(spec, "destination", key) for key in ("server", "name")]
        if at(spec, "kubeConfig") or not {*there} <= {None, "", *_HERE}:
            return False
    return True


def _charts(obj: KubernetesObject) -> Iterator[dict[str, Any]]:
    spec = at(obj.body, "spec")
    if obj.kind == _FLUX:
        asked = at(spec, "chart", "spec")
        values = UNKNOWN if at(spec, "valuesFrom") else at(spec, "values")
        yield _release(asked, at(spec, "targetNamespace") or obj.namespace, values)
    elif obj.kind == _K3S:
        values = at(spec, "valuesContent")
        values = loaded(values) if values else at(spec, "values")
        yield _release(spec, at(spec, "targetNamespace") or obj.namespace, values)
    else:
        spec = at(spec, "template", "spec") if obj.kind == _ARGO_SET else spec
        for source in (at(spec, "source"), *items(at(spec, "sources"))):
            helm = at(source, "helm")
            values = at(helm, "valuesObject") or loaded(at(helm, "values"))
            for _, given in mappings(at(helm, "parameters")):
                values = _with(values, text(given.get("name")), given.get("value"))
            elsewhere = at(helm, "valueFiles")
            space = at(spec, "destination", "namespace")
            yield _release(source, space, UNKNOWN if elsewhere else values)


def _with(values: Any, name: Any, value: Any) -> Any:
    """Values with one more of Helm's `--set`; `UNKNOWN` where its place is more than keys."""
    if (
        values is UNKNOWN
        or name is UNKNOWN
        or not re.fullmatch(r"[A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)*", name)
    ):
        return UNKNOWN
    key, _, rest = name.partition(".")
    held = values if isinstance(values, dict) else {}
    inner = _with(held.get(key), rest, value) if rest else _BOOLEANS.get(value, value)
    return {**held, key: inner}


_BOOLEANS = {"true": True, "false": False}


def _release(asked: Any, namespace: Any, values: Any) -> dict[str, Any]:
    given: Mapping[str, Any] = {
        "chart": at(asked, "chart"),
        "version": at(asked, "version"),
        "namespace": namespace,
        "values": values,
    }
    return {key: value for key, value in given.items() if value is not None}
