"""Why controllers cannot create pods, as their events say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.live.objects import namespace_of
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.live.stuck_pods import last_time

if TYPE_CHECKING:
    from datetime import datetime

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_REASON: Final = "FailedCreate"
_PODS_OF: Final = {
    "DaemonSet": (("status", "desiredNumberScheduled"), "currentNumberScheduled"),
    "StatefulSet": (("spec", "replicas"), "replicas"),
    "Job": (("spec", "parallelism"), "active"),
}
"""Where kinds say how many pods they want, and in their status how many there are.

Deployments and ReplicaSets have a condition that says why."""


def is_short_of_pods(given: Object) -> bool:
    """Whether an object makes pods, has fewer than it wants, and does not say why itself."""
    wanted, there = _PODS_OF.get(str(given.get("kind")), ((), ""))
    if not wanted or at(given, "spec", "suspend") is True or has_ended(given):
        return False
    many, few = at(given, *wanted), at(given, "status", there)
    return isinstance(many, int) and many > (few if isinstance(few, int) else 0)


def has_ended(job: Object) -> bool:
    """Whether a Job has come to its end, well or not."""
    return at(job, "kind") == "Job" and bool(at(job, "status", "conditions"))


def refusals_of(objects: ClusterObjects) -> dict[PodOwner, str]:
    """The last reason that was given for each controller that could not create a pod.

    An event stays for an hour after what it says is over: it counts only of a controller that is
    short of pods, which its caller knows.

    Args:
        objects: The cluster, of which events may not be known.
    """
    newest: dict[PodOwner, tuple[datetime | None, str]] = {}
    for event in objects.of("Event"):
        kind, name = (at(event, "involvedObject", part) for part in ("kind", "name"))
        said = at(event, "message")
        if at(event, "reason") != _REASON or not all(
            isinstance(part, str) and part for part in (kind, name, said)
        ):
            continue
        owner = PodOwner(namespace_of(event), str(kind), str(name))
        last = last_time(event)
        before = newest.get(owner)
        if before is None or before[0] is None or (last is not None and last > before[0]):
            newest[owner] = last, str(said).removeprefix("Error creating: ").rstrip(".")
    return {owner: said for owner, (_, said) in newest.items()}
