"""How blocks are written, for who has given something else in their place."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath

_POOL: Final = "{instanceTypes: [g6.xlarge], sharing: {mode: timeSlicing, replicas: 4}}"
_TAINT: Final = '{key: nvidia.com/gpu, value: "true", effect: NoSchedule}'
SHAPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cluster": '{name: demo, version: "1.35"}',
        "cluster.endpoint": "{public: true, publicCidrs: [203.0.113.0/24]}",
        "cluster.existing": "{name: my-cluster}",
        "network": "{zones: [us-west-2a, us-west-2b]}",
        "system": "{instanceTypes: [t3.large]}",
        "gpuStack": "{manager: gpuOperator}",
        "pools": f"{{gpu: {_POOL}}}",
        "pools.*": _POOL,
        "pools.*.nodes": "{min: 0, desired: 1, max: 2}",
        "pools.*.sharing": "{mode: timeSlicing, replicas: 4}",
        "pools.*.sharing.timeSlicing": "{replicas: 2}",
        "pools.*.labels": "{team: research}",
        "pools.*.taints": f"[{_TAINT}]",
        "pools.*.taints.*": _TAINT,
        "pools.*.karpenter": "{consolidateAfter: 5m}",
        "pools.*.reservation": "{id: cr-0a1b2c3d4e5f67890}",
        "pools.*.kubelet": "{maxPods: 110}",
        "pools.*.warm": "{shares: 1}",
        "karpenter": "{}",
        "clusterAutoscaler": "{}",
        "keda": "{prometheus: {url: http://prometheus.monitoring.svc:9090}}",
        "keda.prometheus": "{url: http://prometheus.monitoring.svc:9090}",
        "workloads": "{app: {pool: gpu, image: registry.example/app:1.0}}",
        "workloads.*": "{pool: gpu, image: registry.example/app:1.0}",
        "charts.devicePlugin": "{version: 0.20.0}",
        "charts.gpuOperator": "{version: v26.7.0}",
        "tenants": "{team: {namespaces: [team], pools: {gpu: {guaranteed: {shares: 4}}}}}",
        "tenants.*": "{namespaces: [team], pools: {gpu: {guaranteed: {shares: 4}}}}",
        "tenants.*.pools": "{gpu: {guaranteed: {shares: 4}}}",
        "tenants.*.pools.*": "{guaranteed: {shares: 4}}",
        "tenants.*.pools.*.guaranteed": "{shares: 4}",
        "tenants.*.pools.*.maximum": "{shares: 8}",
        "tenants.*.cost": '{center: "4711"}',
        "observability": "{prometheus: {install: true}}",
        "observability.prometheus": "{install: true}",
        "observability.interval": "15s",
        "observability.selectorLabels": "{release: kube-prometheus-stack}",
        "observability.podLabels": '["^app$"]',
        "observability.alerts": "{severity: {GpuXid: critical}}",
        "observability.alerts.severity": "{GpuXid: critical}",
        "observability.alerts.labels": "{team: research}",
        "observability.slo": "{schedulingSeconds: 60, availability: 99.5}",
        "observability.cost": "{split: memory}",
        "cluster.addons": "{ebsCsi: true}",
        "tags": "{team: research}",
    }
)
"""Blocks by their places, with `*` for names that the user chooses and positions in lists."""


TIMES: Final = frozenset(
    ("interval", "consolidateAfter", "expireAfter", "terminationGracePeriod", "scaleDownAfter")
) | {"scaleDownDelayAfterAdd"}
"""Keys whose value is a time, as text with its unit."""


def shape_at(at: FieldPath) -> str | None:
    """How the block at a place is written; None where that is not known.

    Args:
        at: The place in a stack file, or from a pool on in the arguments of a component.
    """
    parts = [str(part) for part in at]
    for place in (parts, ["pools", "", *parts]):
        for pattern, shape in SHAPES.items():
            wanted = pattern.split(".")
            if len(wanted) == len(place) and all(
                one in {"*", other} for one, other in zip(wanted, place, strict=True)
            ):
                return shape
    return None
