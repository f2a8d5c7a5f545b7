"""Pods that have a node and whose containers are not created: only events say why.

Kubelet writes a mount that fails, or a sandbox that no runtime makes, into no status. Its events
stay for an hour after what they say is over: they count of a pod that is still stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.objects import moment, name_of, namespace_of
from eks_gpushare.live.pods import STARTING, state_of

if TYPE_CHECKING:
    from datetime import datetime

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

INITIALISING: Final = "PodInitializing"
STARTING_REASONS: Final = frozenset(("ContainerCreating", INITIALISING))
"""For which a container waits that is about to start."""
STUCK_SECONDS: Final = 120.0
"""After how long it is asked why: volumes and networks of most pods are there by then."""
_OVER: Final = frozenset(("FailedScheduling", "FailedCreate", "Preempted"))
"""Reasons of events that were before the pod had its node, or are of its controller."""
_PARTS: Final = ("initContainerStatuses", "containerStatuses")


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


def said_of(objects: ClusterObjects, pod: Object) -> str:
    """What the newest warning of a pod that is stuck says: reason and message; empty without."""
    if not is_stuck(pod, objects.at):
        return ""
    newest: tuple[datetime, str] | None = None
    for event in objects.of("Event"):
        about = at(event, "involvedObject")
        reason, message = str(at(event, "reason") or ""), str(at(event, "message") or "")
        if at(about, "kind") != "Pod" or at(event, "type") != "Warning" or reason in _OVER:
            continue
        if (at(about, "namespace"), at(about, "name")) != (namespace_of(pod), name_of(pod)):
            continue
        then = last_time(event)
        if message and then is not None and (newest is None or then > newest[0]):
            newest = then, f"{reason}: {message}".rstrip(".")
    return newest[1] if newest is not None else ""


def last_time(event: Object) -> datetime | None:
    """When an event was last seen; None where it does not say."""
    paths = (("lastTimestamp",), ("series", "lastObservedTime"), ("eventTime",))
    times = (moment(at(event, *path)) for path in paths)
    return max((time for time in times if time is not None), default=None)
