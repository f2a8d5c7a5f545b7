"""What the lab reads of a ScaledObject: what it scales, by what, and how long it may take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.live.pods import PodOwner
from eks_gpushare_lab.controllers.shorter_times import seconds_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare_lab.client import Object

_OWN_TIME_SECONDS = 3.0
"""How long Prometheus, KEDA and the controller of autoscalers take, one after the other."""

_DCGM = re.compile(r"\bDCGM_FI_")


def is_scaled_object(given: Mapping[str, Any]) -> bool:
    """Whether an object is a ScaledObject of KEDA's."""
    group = str(given.get("apiVersion", "")).partition("/")[0]
    return given.get("kind") == "ScaledObject" and group == "keda.sh"


def target_of(scaled: Object) -> PodOwner:
    """The workload that it scales."""
    target = (scaled.get("spec") or {}).get("scaleTargetRef") or {}
    namespace = scaled["metadata"].get("namespace") or "default"
    return PodOwner(namespace, str(target.get("kind") or "Deployment"), str(target.get("name")))


def queries_of(scaled: Object) -> Iterator[str]:
    """The queries by which it scales."""
    for trigger in (scaled.get("spec") or {}).get("triggers") or ():
        query = (trigger.get("metadata") or {}).get("query")
        if trigger.get("type") == "prometheus" and isinstance(query, str):
            yield query


def is_by_gpu(scaled: Object) -> bool:
    """Whether it scales by what the DCGM exporter measures."""
    return any(map(_DCGM.search, queries_of(scaled)))


def patience(scaled: Iterable[Object]) -> float:
    """Seconds without a change after which none of them will make one by itself.

    A step waits for the window of its query or for the period of its policy, and the last one, to
    none, for the cooldown besides.
    """
    found = 0.0
    for scaled_object in scaled:
        spec = scaled_object.get("spec") or {}
        windows = [seconds for query in queries_of(scaled_object) for seconds in seconds_in(query)]
        config = (spec.get("advanced") or {}).get("horizontalPodAutoscalerConfig") or {}
        for direction in (config.get("behavior") or {}).values():
            windows.append(float(direction.get("stabilizationWindowSeconds") or 0))
            windows += [float(p.get("periodSeconds", 0)) for p in direction.get("policies") or ()]
        polling = float(spec.get("pollingInterval", 30))
        cooldown = float(spec.get("cooldownPeriod", 300))
        own = max(windows, default=0.0) + cooldown + 2 * polling + _OWN_TIME_SECONDS
        found = max(found, own)
    return found
