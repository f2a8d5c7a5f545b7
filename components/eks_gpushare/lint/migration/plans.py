"""Service plans of Omnistrate, with what they leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.migration.pools import free_name
from eks_gpushare.manifests.plain import mapping
from eks_gpushare.sharing.omnistrate import environment_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.source import Source
    from eks_gpushare.lint.migration.moved import Moved

_PROMETHEUS: Final = "http://prometheus.monitoring.svc:9090"
_KEPT: Final = frozenset(("version", "services", "x-internal-integrations"))
_OF_SERVICE: Final = frozenset(
    ("image", "ports", "deploy", "environment", "platform", "x-omnistrate-capabilities")
)
_PLAIN: Final = frozenset(("autoscaling", "serverlessConfiguration"))


def plan_of(value: Mapping[str, Any], source: Source, moved: Moved) -> None:
    """Take over a service plan."""
    pool = free_name("gpu", moved)
    try:
        parts = environment_parts(_without_unknown(value), pool=pool)
    except ValueError:  # it names no type, or it is not known
        why = "Its instance type is not known. Name it in a pool."
        moved.leave(source, (), source.name, why)
        return
    moved.pools[pool] = parts["pools"][pool]
    moved.comment(("pools", pool), source)
    for name, workload in parts["workloads"].items():
        if workload.pop("autoStop", None):
            why = (
                "It stops when idle there, and Omnistrate's proxy wakes it. Here add autoStop: "
                "true and wake: {query: ...}, PromQL for the requests that wait."
            )
            moved.leave(source, (), f"enableAutoStop of the service {name}", why)
        if not workload.get("image"):
            why = "It has no image, so there is no workload."
            moved.leave(source, (), f"the service {name}", why)
            continue
        sharing = moved.pools[pool]["sharing"]
        if sharing["mode"] == "mig" and "timeSlicing" in sharing:
            workload.pop("idle", None)
            workload.pop("overUse", None)
            if replicas := workload.get("replicas"):
                workload["replicas"] = {replica: replicas.get("min", 1) for replica in replicas}
            why = "Nobody measures pods that take turns on a MIG device; add useQuery, with idle."
            moved.leave(source, (), f"autoscaling of the service {name}", why)
        moved.workloads[name] = workload
        moved.comment(("workloads", name), source)
        if {"idle", "overUse"} & workload.keys() and "keda" not in moved.environment:
            prometheus: dict[str, Any] = {"url": _PROMETHEUS}
            if sharing["mode"] == "timeSlicing":
                prometheus["processMetrics"] = True
            moved.environment["keda"] = {"prometheus": prometheus}
            # Its exporter is what measures the use of GPUs.
            moved.environment.setdefault("gpuStack", {"manager": "gpuOperator"})
            why = f"Use is measured by Prometheus here: set keda.prometheus.url, now {_PROMETHEUS}."
            moved.leave(source, (), "idleThreshold and overUtilizedThreshold", why)
    _left(value, source, moved)


def _left(value: Mapping[str, Any], source: Source, moved: Moved) -> None:
    for key in value:
        if key not in _KEPT:
            moved.leave(source, (key,), key, "A stack file has no counterpart for it.")
    for name, service in mapping(value.get("services")).items():
        for key in mapping(service):
            if key not in _OF_SERVICE:
                why = "A stack file has no counterpart for it; apply a manifest of your own."
                moved.leave(source, ("services", name, key), f"{key} of the service {name}", why)
        for key in mapping(mapping(service).get("x-omnistrate-capabilities")):
            if key not in _PLAIN:
                place = ("services", name, "x-omnistrate-capabilities", key)
                why = "A stack file has no counterpart for it."
                moved.leave(source, place, f"{key} of the service {name}", why)


def _without_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_unknown(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [_without_unknown(inner) for inner in value if inner is not UNKNOWN]
    return value
