"""Why controllers cannot create pods, as their events say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.placement import keeping_off
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.live.stuck_pods import last_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from eks_gpushare.live.pods import Object
    from eks_gpushare.live.state import ClusterState

_REASON: Final = "FailedCreate"
_COMBINED: Final = "(combined from similar events): "
"""Begins what client-go makes of events of which there are too many."""
_NO_POD: Final = "its controller has made no pod for it"
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


def refusal_said(message: str) -> str:
    """What an event says of a pod that could not be created, without what says that it is one."""
    return message.removeprefix(_COMBINED).removeprefix("Error creating: ").rstrip(".")


def why_no_pod(daemon_set: Object, node: Object, refusals: Mapping[PodOwner, str]) -> list[str]:
    """Why a DaemonSet has no pod on a node, each reason as a clause.

    Args:
        daemon_set: The DaemonSet.
        node: The node.
        refusals: What is said of pods that could not be created.
    """
    kept_off = keeping_off(at(daemon_set, "spec", "template", "spec") or {}, node)
    if kept_off:
        return kept_off
    refused = refusals.get(PodOwner(namespace_of(daemon_set), "DaemonSet", name_of(daemon_set)))
    return [f"its pods cannot be created: {refused}" if refused else _NO_POD]


def refusals_of(objects: ClusterState) -> dict[PodOwner, str]:
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
            newest[owner] = last, refusal_said(str(said))
    return {owner: said for owner, (_, said) in newest.items()}
