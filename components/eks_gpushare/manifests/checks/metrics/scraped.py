"""What monitors of Prometheus scrape of GPUs, and by which ports.

Source, November 2026: `port` of a PodMonitor, the name of a container's port, and of a
ServiceMonitor, that of a Service's, in
https://prometheus-operator.dev/docs/api-reference/api/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Pointer, Release, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.exporters import UNSCRAPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory

MONITORS: Final = {"ServiceMonitor": "serviceMonitorSelector", "PodMonitor": "podMonitorSelector"}
"""Kinds of monitors, and by what of its spec a server takes them."""
OF_GPUS: Final = re.compile(r"dcgm|nvidia|gpu|vllm|sglang|tritonserver|triton-")
_GROUPS: Final = "LeaderWorkerSet"
_OF_CONTROLLER: Final = "leaderworkerset.sigs.k8s.io/"
_OF_GROUP: Final = f"{_OF_CONTROLLER}name"
"""The label that its pods get: https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/."""
_INJECTED: Final = re.compile(r"envoy|istio|linkerd")
_AS_WRITTEN: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod")
"""Kinds of whose pods no controller of somebody else adds ports."""


def ends_of(monitor: Pointer) -> str:
    """Where a monitor lists what is to be scraped."""
    return "endpoints" if monitor.kind == "ServiceMonitor" else "podMetricsEndpoints"


def about_of(monitor: Pointer) -> str:
    """What tells of a monitor whether it is of GPUs."""
    spec = monitor.spec
    return f"{monitor.name} {at(spec, 'selector')} {at(spec, ends_of(monitor))}".lower()


@edge(UNSCRAPED)
def ports(inventory: Inventory) -> Iterator[Problem]:
    """Names of ports of monitors, against those of what they select, where that is of GPUs."""
    for cluster in inventory.clusters():
        for monitor, found, _ in scraped(inventory, cluster):
            yield from _unnamed(monitor, found)


def scraped(
    inventory: Inventory, cluster: str
) -> Iterator[tuple[Pointer, list[Any], list[Workload]]]:
    """Each monitor of GPUs with what it selects, and the pods behind that."""
    workloads = inventory.of(Workload, cluster)
    services = [one for one in inventory.of(Pointer, cluster) if one.kind == "Service"]
    spaces = [release.namespace for release in inventory.of(Release, cluster)]
    for monitor in inventory.of(Pointer, cluster):
        # A chart of the namespace may make others with the same labels.
        if monitor.kind not in MONITORS or monitor.namespace in (*spaces, UNKNOWN):
            continue
        every: list[tuple[Any, Any]] = [(one, one.labels) for one in workloads]
        if monitor.kind != "PodMonitor":
            every = [(one, at(value_of(one), "metadata", "labels")) for one in services]
        found = served = _selected(monitor, every)
        if monitor.kind != "PodMonitor":
            served = [pods for service in found for pods in workloads if _is_behind(pods, service)]
        of_gpus = any(any(requests_of(each)) for each in served)
        if found and (of_gpus or OF_GPUS.search(about_of(monitor))):
            yield monitor, found, served


def _is_behind(workload: Workload, service: Pointer) -> bool:
    selector = at(service.spec, "selector")
    return (
        bool(pairs(selector))
        and may_be_same(workload.namespace, service.namespace)
        and selects_pods({"matchLabels": selector}, workload) is True
    )


def selects_pods(selector: Any, workload: Workload) -> bool | None:
    """Whether a selector takes a workload's pods, by labels that its controller gives them too."""
    labels = workload.labels
    if workload.kind == _GROUPS and labels is not UNKNOWN:
        asked = pairs(at(selector, "matchLabels"))
        # All others, but for the name, tell of the pods of a group which one it is.
        which = {key: text(value) for key, value in asked if key.startswith(_OF_CONTROLLER)}
        labels = {**labels, **which, _OF_GROUP: workload.name}
    return selects(selector, labels)


def _selected(monitor: Pointer, every: Sequence[tuple[Any, Any]]) -> list[Any]:
    """What a monitor selects of some; none where that is not certain."""
    selector, elsewhere = at(monitor.spec, "selector"), at(monitor.spec, "namespaceSelector")
    if has_unknown([selector, elsewhere]) or elsewhere:
        return []
    near = [(one, labels) for one, labels in every if may_be_same(one.namespace, monitor.namespace)]
    taken = [selects(selector, labels) for _, labels in near]
    return (
        [] if None in taken else [one for (one, _), each in zip(near, taken, strict=True) if each]
    )


def _unnamed(monitor: Pointer, found: Sequence[Any]) -> Iterator[Problem]:
    listed = [_ports_of(each) for each in found]
    if has_unknown([listed, at(monitor.spec, ends_of(monitor))]):
        return
    named = {text(at(port, "name")) for each in listed for port in each} - {None, ""}
    for index, end in enumerate(items(at(monitor.spec, ends_of(monitor)))):
        wanted = at(end, "port")
        if isinstance(wanted, str) and wanted not in named and not _INJECTED.search(wanted):
            known = ", ".join(sorted(map(str, named))) or "none"
            yield Problem(
                UNSCRAPED,
                monitor.source,
                ("spec", ends_of(monitor), index, "port"),
                f"{at_start(monitor.source.name)} is to scrape the port {wanted} of "
                f"{found[0].source.name}, whose ports have the names {known}: it has no target.",
                "Name one of those, or give the port that name.",
            )


def _ports_of(each: Any) -> list[Any]:
    """The ports of a Service, or of the containers of pods; one unknown where there may be more."""
    if isinstance(each, Pointer):
        return [UNKNOWN] if each.spec is UNKNOWN else items(at(each.spec, "ports"))
    if each.kind not in _AS_WRITTEN or has_unknown(at(each.spec, "containers")):
        return [UNKNOWN]
    return [port for _, one in containers(each.spec) for port in items(at(one, "ports"))]
