"""Pods that have a node and whose containers are not created: only events say why.

Kubelet writes a mount that fails, or a sandbox that no runtime makes, into no status. Its events
stay for an hour after that is over: they count while the pod is stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.kinds import EVENTS_SOURCE
from eks_gpushare.live.objects import moment, name_of, namespace_of
from eks_gpushare.live.pods import STARTING, requested, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from eks_gpushare.live.pods import Object
    from eks_gpushare.live.state import ClusterState

INITIALISING: Final = "PodInitializing"
STARTING_REASONS: Final = frozenset(("ContainerCreating", INITIALISING))
"""For which a container waits that is about to start."""
STUCK_SECONDS: Final = 120.0
"""After how long it is asked why: volumes and networks of most pods are there by then."""
_OVER: Final = frozenset(("FailedScheduling", "FailedCreate", "Preempted"))
"""Reasons of events that were before the pod had its node, or are of its controller."""
_PARTS: Final = ("initContainerStatuses", "containerStatuses")


def is_of_gpus(pod: Object) -> bool:
    """Whether a pod is looked at: it asks for GPUs, or is one of a DaemonSet, as NVIDIA's are."""
    owners = items(at(pod, "metadata", "ownerReferences"))
    if any(at(owner, "kind") == "DaemonSet" for owner in owners):
        return True
    return any(map(is_gpu_resource, requested(pod["spec"])))


def is_uncreated(pod: Object) -> bool:
    """Whether none of a pod's containers has been created yet, though it has a node."""
    if state_of(pod) != STARTING or at(pod, "status", "phase") != "Pending":
        return False
    states = (at(one, "state") for part in _PARTS for one in items(at(pod, "status", part)))
    return all(_is_to_come(state) for state in states)


def _is_to_come(state: Any) -> bool:
    waits = at(state, "waiting")
    return not state or (waits is not None and at(waits, "reason") in {None, *STARTING_REASONS})


def is_stuck(pod: Object, now: datetime) -> bool:
    """Whether a pod has been so for a while.

    Args:
        pod: The pod.
        now: When.
    """
    made = moment(at(pod, "metadata", "creationTimestamp"))
    is_late = made is None or (now - made).total_seconds() >= STUCK_SECONDS
    return is_late and at(pod, "metadata", "deletionTimestamp") is None and is_uncreated(pod)


def warnings_of(objects: ClusterState) -> dict[tuple[str, str], str]:
    """The newest warning of each pod, reason and message, by its namespace and name."""
    newest: dict[tuple[str, str], tuple[datetime, str]] = {}
    for event in objects.of("Event"):
        about = at(event, "involvedObject")
        reason, message = str(at(event, "reason") or ""), str(at(event, "message") or "")
        if at(about, "kind") != "Pod" or at(event, "type") != "Warning" or reason in _OVER:
            continue
        if at(event, "source", "component") == EVENTS_SOURCE:  # it would quote itself
            continue
        pod = str(at(about, "namespace")), str(at(about, "name"))
        then = last_time(event)
        if message and then is not None and (pod not in newest or then > newest[pod][0]):
            newest[pod] = then, f"{reason}: {message}".rstrip(".")
    return {pod: said for pod, (_, said) in newest.items()}


def said_of(warnings: Mapping[tuple[str, str], str], pod: Object, now: datetime) -> str:
    """What the newest warning of a pod that is stuck says; empty of any other.

    Args:
        warnings: Those of all pods.
        pod: The pod.
        now: When.
    """
    return warnings.get((namespace_of(pod), name_of(pod)), "") if is_stuck(pod, now) else ""


def last_time(event: Object) -> datetime | None:
    """When an event was last seen; None where it does not say."""
    paths = (("lastTimestamp",), ("series", "lastObservedTime"), ("eventTime",))
    times = (moment(at(event, *path)) for path in paths)
    return max((time for time in times if time is not None), default=None)
