"""How KEDA sets a number of pods by the time.

A trigger of cron is worth its number of pods while its window is open, and 0 else, and of several
the greatest counts. What shall have no pods outside of its windows is started and stopped by KEDA
itself, which sets the number at once; between numbers above 0 a HorizontalPodAutoscaler changes it,
told to do that in one step.

Source, read 2026-11-25 at v2.20.2 of https://github.com/kedacore/keda: pkg/scalers/cron_scaler.go
and pkg/scaling/executor/scale_scaledobjects.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.windows import ZonedWindow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.config.windows import Window

POLLING_SECONDS = 15
"""How often KEDA asks, which is as often as a HorizontalPodAutoscaler does."""


def cron_trigger(window: Window, replicas: int) -> dict[str, Any]:
    """What is worth a number of pods while a window is open."""
    return {
        "type": "cron",
        "metadata": {
            "timezone": window.time_zone,
            "start": window.start,
            "end": window.end,
            "desiredReplicas": str(replicas),
        },
    }


def zoned(windows: Iterable[Window]) -> frozenset[ZonedWindow]:
    """Windows as they are counted: those that fall together are one."""
    return frozenset(ZonedWindow(each.start, each.end, each.time_zone) for each in windows)


def keda_object(
    name: str, namespace: str, labels: Mapping[str, str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    """A ScaledObject of the Deployment of its name.

    Args:
        name: Name of both.
        namespace: Their namespace.
        labels: Its labels.
        spec: What it says besides.
    """
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "pollingInterval": POLLING_SECONDS,
            **spec,
        },
    }


def scheduled_spec(windows: Sequence[tuple[Window, int]], outside: int = 0) -> dict[str, Any]:
    """What a ScaledObject says whose number of pods only the time decides.

    Args:
        windows: Windows with their numbers of pods.
        outside: How many there are outside of all of them.
    """
    counts = [count for _, count in windows]
    limits = {"minReplicaCount": outside}
    if outside == 0:
        # The number that KEDA starts with, so that the first ones come at once as well.
        limits = {"cooldownPeriod": 0, "idleReplicaCount": 0, "minReplicaCount": min(counts)}
    policy = {"type": "Pods", "value": max(counts), "periodSeconds": POLLING_SECONDS}
    at_once = {"stabilizationWindowSeconds": 0, "policies": [policy]}
    return {
        **limits,
        "maxReplicaCount": max(outside, *counts),
        "advanced": {
            "horizontalPodAutoscalerConfig": {
                "behavior": {"scaleUp": at_once, "scaleDown": at_once},
            }
        },
        "triggers": [cron_trigger(window, count) for window, count in windows],
    }
