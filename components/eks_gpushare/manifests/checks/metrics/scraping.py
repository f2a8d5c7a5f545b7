"""Whether Prometheus takes the metrics of GPUs, with the labels that queries go by.

Sources, November 2026: `serviceMonitorSelector` and `podMonitorSelector` of
https://prometheus-operator.dev/docs/api-reference/api/; `serviceMonitorSelectorNilUsesHelmValues`
and its like in values.yaml of kube-prometheus-stack; `honor_labels` of
https://prometheus.io/docs/prometheus/latest/configuration/configuration/; `serviceMonitor` in
deployment/values.yaml of NVIDIA/dcgm-exporter and deployments/gpu-operator/values.yaml of
NVIDIA/gpu-operator, which honors no labels by default; controllers/state_manager.go of
NVIDIA/gpu-operator, which gives its namespace on OpenShift the label by which the Prometheus goes
that is part of that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import SCRAPERS, Pointer, Release
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.application_sets import is_set, sources_of
from eks_gpushare.manifests.charts import PROMETHEUS
from eks_gpushare.manifests.checks.metrics.queries import queries, rules_of
from eks_gpushare.manifests.checks.metrics.scraped import MONITORS, OF_GPUS, about_of, ends_of
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.exporters import OTHER_PODS, UNSCRAPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.problem import Judgement

_OF_DCGM: Final = re.compile(r"dcgm")
_SPEC: Final = ("prometheus", "prometheusSpec")
_ON_OPENSHIFT: Final = (("operator", "use_ocp_driver_toolkit"), ("platform", "openshift"))
"""Signs of a platform with a Prometheus of its own, which goes by the namespace's label."""
_QUERY: Final = re.compile(r"DCGM_FI_[A-Z0-9_]+\{([^}]*)\}")
_MATCHED: Final = re.compile(
    r"(?<![A-Za-z0-9_])(exported_)?(pod|container|namespace)\s*(=~?|!=)\s*['\"]([^'\"]*)['\"]"
)
_OTHERWISE: Final = (
    "additionalScrapeConfigs",
    "additionalScrapeConfigsSecret",
    "overrideHonorLabels",
)
"""What of a server's spec tells that its monitors are not all."""


class _Monitor(NamedTuple):
    """What has Prometheus scrape something of GPUs."""

    item: Item
    labels: Any
    labels_place: FieldPath
    setting: str
    """How the labels are called there."""
    honors: Any
    """Whether labels of what is scraped go first; None where nothing says."""
    honors_place: FieldPath
    renames: Any
    """What it makes of labels."""
    of_dcgm: bool


@edge(UNSCRAPED, OTHER_PODS)
def scraping(inventory: Inventory) -> Iterator[Judgement]:
    """Monitors of GPUs, against the servers of Prometheus and the queries that are there."""
    for cluster in inventory.clusters():
        monitors = [
            *_written(inventory.of(Pointer, cluster)),
            *_of_charts(inventory.of(Release, cluster)),
        ]
        if not monitors:
            continue
        if not _scrapes_otherwise(inventory, cluster):
            yield from _unselected(inventory, cluster, monitors)
        exporters = [each for each in monitors if each.of_dcgm]
        taken = {_takes_over(each) for each in exporters}
        # A scrape that is written out may be of the exporter too, with labels as it says itself.
        if taken == {False} or (taken == {True} and not _scrapes_otherwise(inventory, cluster)):
            yield from _by_pods(inventory, cluster, exporters[0], honored=True in taken)


def _written(pointers: Sequence[Pointer]) -> Iterator[_Monitor]:
    for each in pointers:
        value = value_of(each)
        if each.kind not in MONITORS or _is_shown(each):
            continue
        key, about = ends_of(each), about_of(each)
        if not OF_GPUS.search(about):
            continue
        ends = items(at(each.spec, key))
        honors = [at(end, "honorLabels") for end in ends]
        yield _Monitor(
            each,
            at(value, "metadata", "labels"),
            ("metadata", "labels"),
            "metadata.labels",
            UNKNOWN if has_unknown(honors) or at(each.spec, key) is UNKNOWN else any(honors),
            ("spec", key),
            [at(end, name) for end in ends for name in ("relabelings", "metricRelabelings")],
            _OF_DCGM.search(about) is not None,
        )


def _is_shown(item: Item) -> bool:
    """Whether it stands in a guide, which may do in another way what follows."""
    return is_guide(str(getattr(item.source.document, "file", "")))


def _of_charts(releases: Sequence[Release]) -> Iterator[_Monitor]:
    """Those that charts make where somebody says so."""
    for release in releases:
        chart = chart_of(release.chart)
        if chart not in (EXPORTER_CHART, OPERATOR_CHART) or not isinstance(release.values, dict):
            continue
        if _is_shown(release) or any(at(release.values, *path) for path in _ON_OPENSHIFT):
            continue
        above = ("dcgmExporter",) if chart == OPERATOR_CHART else ()
        path = (*above, "serviceMonitor")
        given = at(release.values, *path)
        # The exporter's own chart makes one unless it is told not to.
        by_default = not above and isinstance(release.name, str) and bool(release.name)
        is_on = at(given, "enabled") in ((None, True) if by_default else (True,))
        if not is_on or at(release.values, *above, "enabled") is False:
            continue
        yield _Monitor(
            release,
            at(given, "additionalLabels") or {},
            value_place(release, (*path, "additionalLabels")),
            ".".join((*path, "additionalLabels")),
            at(given, "honorLabels"),
            value_place(release, (*path, "honorLabels")),
            [at(given, name) for name in ("relabelings", "metricRelabelings")],
            of_dcgm=True,
        )


# --- Prometheus -------------------------------------------------------------------------------


def _unselected(
    inventory: Inventory, cluster: str, monitors: Sequence[_Monitor]
) -> Iterator[Problem]:
    lost = []
    for monitor in monitors:
        servers = list(_servers(inventory, cluster, _kind(monitor)))
        chosen = [selects(selector, monitor.labels) for _, selector in servers]
        # One that is not known may take all that there are.
        if servers and UNKNOWN not in [one for _, one in servers] and set(chosen) == {False}:
            lost.append((monitor, *servers[0]))
    # Whoever has one of his own for the exporter leaves that of its chart as it is.
    gone = [monitor for monitor, *_ in lost]
    own = any(monitor.of_dcgm and monitor not in gone for monitor in monitors)
    for monitor, server, selector in lost:
        if not (own and isinstance(monitor.item, Release)):
            name, kind = monitor.item.source.name, _kind(monitor)
            called = name if isinstance(monitor.item, Pointer) else f"the {kind} of {name}"
            wanted = ", ".join(
                f"{key}: {text(value)}" for key, value in pairs(at(selector, "matchLabels"))
            )
            yield Problem(
                UNSCRAPED,
                monitor.item.source,
                monitor.labels_place,
                f"{at_start(server.source.name)} takes {kind}s "
                f"{f'with {wanted}' if wanted else 'by its selector'}, and {called} is none of "
                "them: it is never scraped.",
                f"Add {wanted or 'labels that it selects'} to `{monitor.setting}`.",
            )


def _kind(monitor: _Monitor) -> str:
    return monitor.item.kind if isinstance(monitor.item, Pointer) else "ServiceMonitor"


def _servers(inventory: Inventory, cluster: str, kind: str) -> Iterator[tuple[Item, Any]]:
    """Each server with what selects its monitors of a kind."""
    key = MONITORS[kind]
    for each in inventory.of(Pointer, cluster):
        if each.kind in SCRAPERS:
            yield each, UNKNOWN  # which take all, or by words of their own
        elif each.kind in ("Prometheus", "PrometheusAgent"):
            selector = at(each.spec, key)
            yield each, UNKNOWN if has_unknown(each.spec) or selector is None else selector
    for release in inventory.of(Release, cluster):
        if release.chart != PROMETHEUS:
            continue
        selector = at(release.values, *_SPEC, key)
        by_name = at(release.values, *_SPEC, f"{key}NilUsesHelmValues") in (None, True)
        if selector:
            yield release, UNKNOWN if has_unknown(selector) else selector
        elif by_name and (name := installed_as(release)):
            yield release, {"matchLabels": {"release": name}}
        else:
            yield release, {}


def installed_as(release: Release) -> str:
    """The name by which Helm has a release; empty where it is not known.

    Flux puts the namespace that it goes to before it: `GetReleaseName` of HelmRelease's API.

    Args:
        release: The release.
    """
    value, name = value_of(release), release.name
    if is_set(value):
        value = at(value, "spec", "template")
        name = at(value, "metadata", "name")
    if not isinstance(name, str):
        return ""
    spec = at(value, "spec")
    sources = [each for _, each in sources_of(spec)]
    # Of several sources each is installed by a name of its own.
    meant = [each for each in sources if at(each, "chart") == release.chart] or sources
    named = (at(each, "helm", "releaseName") for each in meant)
    own = at(spec, "releaseName") or next(filter(None, named), None)
    space = at(spec, "targetNamespace") if at(value, "kind") == "HelmRelease" else None
    whole = own or (f"{space}-{name}" if space else name)
    return whole if not has_unknown([own, space]) else ""


# --- queries ----------------------------------------------------------------------------------


def _takes_over(monitor: _Monitor) -> bool | None:
    """Whether the labels of what is scraped go first; None where something else may decide."""
    if has_unknown(monitor.renames) or any(monitor.renames) or monitor.honors is UNKNOWN:
        return None
    return monitor.honors not in (None, False)


def _scrapes_otherwise(inventory: Inventory, cluster: str) -> bool:
    """Whether a server of Prometheus has more than monitors tell, or heeds no honored labels."""
    specs = [each.spec for each in inventory.of(Pointer, cluster) if each.kind == "Prometheus"]
    releases = inventory.of(Release, cluster)
    specs += [at(each.values, *_SPEC) for each in releases if each.chart == PROMETHEUS]
    return any(spec is UNKNOWN or at(spec, key) for spec in specs for key in _OTHERWISE)


def _by_pods(
    inventory: Inventory, cluster: str, monitor: _Monitor, *, honored: bool
) -> Iterator[Problem]:
    """Queries for metrics of GPUs by the pods that have them."""
    # What alerts by pods may well be about the exporter's own, but for what is there never.
    ruled = [each[:3] for each in rules_of(inventory, cluster)] if honored else []
    for item, place, query in (*queries(inventory, cluster), *ruled):
        for found in _QUERY.finditer(query):
            label = next(
                (
                    name
                    for before, name, operator, value in _MATCHED.findall(found[1])
                    if bool(before) is honored and (before or name != "namespace")
                    if (operator == "!=") is (value == "")
                    and "dcgm" not in value
                    # What may be anything is the exporter's own too.
                    and value not in (".*", ".+")
                ),
                None,
            )
            if label is None:
                continue
            why = (
                f"does not honor labels: {label} is there the exporter's own, and that of the "
                f"workload is exported_{label}"
            )
            fix = (
                f"Set honorLabels: true at {'.'.join(map(str, monitor.honors_place))} of "
                f"{monitor.item.source.name}, or ask by exported_{label}."
            )
            if honored:
                why = (
                    f"honors labels: {label} is that of the workload, and none is exported_{label}"
                )
                fix = f"Ask by {label}."
            yield Problem(
                OTHER_PODS,
                item.source,
                place,
                f"{at_start(item.source.name)} asks for {found[0]}, and {monitor.item.source.name} "
                f"{why}.",
                fix,
            )
            break
