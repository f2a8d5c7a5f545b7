"""The exporter of DCGM's metrics: whether it knows of shares and pods, and how much memory it has.

It is in a chart of its own, in that of the GPU Operator, or written out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.catalog.chart_releases import is_before
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import RULES, SCALERS, Pointer, Release, Workload
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.shared_names import sharings
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.charts import OF_METRICS
from eks_gpushare.manifests.rules.exporters import EXPORTS_NO_PODS, LITTLE_MEMORY, SEES_NO_SHARES
from eks_gpushare.sharing.resources import GPU, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SHARES: Final = "KUBERNETES_VIRTUAL_GPUS"
_KNOWN_SINCE: Final = (4, 0, 3)
"""The exporter that first knew it: https://github.com/NVIDIA/dcgm-exporter/pull/432."""
_RELEASE: Final = re.compile(r"v?(?:[0-9]+\.[0-9]+\.[0-9]+-)?([0-9]+)\.([0-9]+)\.([0-9]+)(?=-|$)")
"""As tags have it, behind the version of DCGM, and charts."""
_NAMES: Final = "NVIDIA_RESOURCE_NAMES"
_PODS: Final = "DCGM_EXPORTER_KUBERNETES"
_ID: Final = "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE"
_ID_TYPES: Final = ("uid", "device-name")
_SOCKETS: Final = "/var/lib/kubelet/pod-resources"
_LEAST: Final = 512 * 2**20
_LEAST_BEFORE: Final = 256 * 2**20
"""Up to 3.5 it used 200 to 230 MiB.

Sources: https://github.com/NVIDIA/dcgm-exporter/issues/425 and, of nodes with one to eight GPUs,
https://github.com/aws-observability/helm-charts/pull/66, read 2026-11-30.
"""
_MORE_SINCE: Final = (3, 6, 0)
_BROUGHT_SINCE: Final = "24.9.0"
"""The GPU Operator that first brought such a one."""
_COLLECTORS: Final = (
    *(*OF_METRICS, "prometheus", "datadog", "k8s-monitoring", "alloy", "grafana-agent"),
    *("opentelemetry-collector", "opentelemetry-operator", "amazon-cloudwatch-observability"),
)
"""Charts of what takes metrics."""
_COLLECTS: Final = ("ServiceMonitor", "PodMonitor", "ScrapeConfig", "Prometheus", RULES, *SCALERS)
"""Kinds of what takes metrics or goes by them."""
_ON: Final = ("true", "1", "t")
_OFF: Final = ("false", "0", "f")


class _Exporter(NamedTuple):
    """An exporter as it is written."""

    daemon: Daemon
    env: Any
    place: FieldPath
    """Where its variables are, or would be."""
    setting: str
    limit: Any
    limit_place: FieldPath
    release: Any = None
    """Its image or chart, as far as it is written."""
    container: Any = None
    """Of one that is written out."""
    has_readers: bool = True
    """Whether somebody says what it is to tell: the operator's has no monitor unless it is told."""


@edge(SEES_NO_SHARES, EXPORTS_NO_PODS, LITTLE_MEMORY)
def exporters(inventory: Inventory) -> Iterator[Judgement]:
    """Each against what the device plugins of its cluster share."""
    for cluster in inventory.clusters():
        shared = [each for each in sharings(inventory, cluster) if each.config.sharing != "none"]
        for daemon in daemons(inventory, cluster):
            if daemon.role != "exporter" or daemon.is_on is None:
                continue
            for exporter in _written(daemon):
                if has_unknown(exporter.env):
                    continue
                yield from _pods(exporter)
                yield from _memory(exporter)
                beside = [s for s in shared if not s.daemon.source.is_apart(daemon.source)]
                if beside and len(shared) == len(sharings(inventory, cluster)):
                    renamed = all(each.config.renamed for each in beside)
                    collected = exporter.has_readers or _is_collected(inventory, cluster)
                    yield from _shares(exporter, renamed=renamed, collected=collected)


def _written(daemon: Daemon) -> Iterator[_Exporter]:
    """As far as somebody has written something of it."""
    item = daemon.item
    if isinstance(item, Workload):
        for where, container in containers(item.spec):
            if "dcgm-exporter" in str(text(at(container, "image"))):
                place = (*item.spec_path, *where)
                yield _Exporter(
                    daemon,
                    at(container, "env"),
                    (*place, "env"),
                    "env",
                    at(container, "resources", "limits", "memory"),
                    (*place, "resources", "limits", "memory"),
                    str(text(at(container, "image"))).rpartition(":")[2],
                    container,
                )
    elif isinstance(item, Release):
        above = ("dcgmExporter",) if chart_of(item.chart) == OPERATOR_CHART else ()
        given = at(item.values, *above)
        if given is None or given is UNKNOWN or (above and _is_for_nobody(given)):
            return
        key = "env" if above else "extraEnv"
        limit = (*above, "resources", "limits", "memory")
        yield _Exporter(
            daemon,
            at(given, key),
            value_place(item, (*above, key)),
            ".".join((*above, key)),
            at(item.values, *limit),
            value_place(item, limit),
            at(given, "version") if above else at(given, "image", "tag") or item.version,
            has_readers=not above or not _has_room_alone(given),
        )


def _is_for_nobody(given: Any) -> bool:
    """Whether all that is written of an operand is that its metrics have no monitor."""
    is_off = at(given, "serviceMonitor", "enabled") is False
    return is_off and {key for key, _ in pairs(given)} <= {"enabled", "serviceMonitor"}


def _has_room_alone(given: Any) -> bool:
    """Whether all that is written of an operand is how much its pods have, and not what for."""
    return {key for key, _ in pairs(given)} <= {"resources", "initContainer"}


def _variables(exporter: _Exporter) -> dict[str, str]:
    return {
        str(text(at(each, "name"))): str(text(at(each, "value"))) for each in items(exporter.env)
    }


def _is_collected(inventory: Inventory, cluster: str) -> bool:
    """Whether something there takes metrics, or goes by them."""
    installed = any(each.chart in _COLLECTORS for each in inventory.of(Release, cluster))
    return installed or any(each.kind in _COLLECTS for each in inventory.of(Pointer, cluster))


def _shares(exporter: _Exporter, *, renamed: bool, collected: bool) -> Iterator[Problem]:
    """What it is not told; a note where nobody asks it."""
    variables = _variables(exporter)
    name = GPU + SHARED_SUFFIX
    if at(exporter.container, "envFrom") or variables.get(_PODS, "").lower() in _OFF:
        return
    severity: Severity | None = None if collected else "info"
    is_told = variables.get(_SHARES, "").lower() in _ON
    release = _RELEASE.match(str(text(exporter.release)))
    old = release is not None and tuple(map(int, release.groups())) < _KNOWN_SINCE
    since = ".".join(map(str, _KNOWN_SINCE))
    later = f", with an exporter of {since} or later, which knows it" if old else ""
    if renamed and name not in variables.get(_NAMES, "").split(","):
        more = "" if is_told else f', and {_SHARES} with the value "true"'
        yield Problem(
            SEES_NO_SHARES,
            exporter.daemon.source,
            exporter.place,
            f"Pods ask for {name}, and {exporter.daemon.title} has not been told of that name.",
            f"Add {_NAMES} with the value {name}{more} to `{exporter.setting}`"
            f"{later if more else ''}.",
            severity,
        )
    elif not is_told:
        yield Problem(
            SEES_NO_SHARES,
            exporter.daemon.source,
            exporter.place,
            f"Pods share GPUs, and {exporter.daemon.title} gives what it knows of a GPU to one of "
            "them.",
            f'Add {_SHARES} with the value "true" to `{exporter.setting}`{later}.',
            severity,
        )


def _pods(exporter: _Exporter) -> Iterator[Problem]:
    variables = _variables(exporter)
    given = variables.get(_ID)
    if given and given not in _ID_TYPES:
        index = next(i for i, each in enumerate(items(exporter.env)) if at(each, "name") == _ID)
        yield Problem(
            EXPORTS_NO_PODS,
            exporter.daemon.source,
            (*exporter.place, index, "value"),
            f"{at_start(exporter.daemon.title)} has {_ID} {given}.",
            f"Write one of {', '.join(_ID_TYPES)}.",
        )
    container = exporter.container
    if container is None or variables.get(_PODS, "").lower() not in _ON:
        return
    mounts = at(container, "volumeMounts")
    paths = [str(text(at(each, "mountPath"))).rstrip("/") for each in items(mounts)]
    if not has_unknown(mounts) and not any(f"{_SOCKETS}/".startswith(f"{each}/") for each in paths):
        yield Problem(
            EXPORTS_NO_PODS,
            exporter.daemon.source,
            (*exporter.place[:-1], "volumeMounts"),
            f"{at_start(exporter.daemon.title)} is to name pods, and does not mount {_SOCKETS}.",
            f"Mount {_SOCKETS} of the host at the same path.",
        )


def _is_small(exporter: _Exporter) -> bool:
    """Whether it is sure to be one of before it came to use more."""
    given, item = exporter.release, exporter.daemon.item
    if given is None and isinstance(item, Release) and chart_of(item.chart) == OPERATOR_CHART:
        return is_before(item.version, _BROUGHT_SINCE)
    release = _RELEASE.match(str(text(given)))
    return release is not None and tuple(map(int, release.groups())) < _MORE_SINCE


def _memory(exporter: _Exporter) -> Iterator[Problem]:
    if exporter.limit in (None, UNKNOWN):
        return
    limit = quantity(str(text(exporter.limit)))
    least = _LEAST_BEFORE if _is_small(exporter) else _LEAST
    if limit is not None and limit < least:
        yield Problem(
            LITTLE_MEMORY,
            exporter.daemon.source,
            exporter.limit_place,
            f"{at_start(exporter.daemon.title)} may use {text(exporter.limit)} of memory.",
            "Allow 1Gi, which is enough for nodes with eight GPUs.",
        )
