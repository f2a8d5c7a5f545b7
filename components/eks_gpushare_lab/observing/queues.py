"""What Kueue says of pods that it holds back: the condition of the Workload that it makes of each.

And whether it has anything left to say: a pod that it will let go of in a moment looks like one
that waits for others.

Source: `apis/kueue/v1beta2/workload_types.go` and `pkg/controller/constants` of
kubernetes-sigs/kueue, at the version in `binaries.versions`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.live.kueue_words import GATE, words_of
from eks_gpushare_lab.observing.free_quota import has_room
from eks_gpushare_lab.observing.obstacles import Obstacle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eks_gpushare_lab.client import Object

GROUP: Final = "/apis/kueue.x-k8s.io/v1beta2"
"""Where its kinds are."""
_WORKLOADS = f"{GROUP}/namespaces/{{}}/workloads"
_GROUP_OF_PODS = "kueue.x-k8s.io/pod-group-name"
_OVER = ("Succeeded", "Failed")
_OF_POD = "?labelSelector=kueue.x-k8s.io%2Fjob-uid%3D{}"
_FIX = "It starts when shares are free again; give the tenant more, or let others have less."


def waits_in_queue(pod: Object) -> bool:
    """Whether Kueue holds a pod back."""
    gates = pod["spec"].get("schedulingGates") or ()
    return any(gate.get("name") == GATE for gate in gates)


def in_queue(pod: Object, get: Callable[[str], Object | None]) -> Obstacle | None:
    """Why Kueue holds a pod back, in its own words; None of a pod that it does not.

    Args:
        pod: the pod.
        get: reads an object by its path.
    """
    if not waits_in_queue(pod):
        return None
    metadata = pod["metadata"]
    path = _WORKLOADS.format(metadata["namespace"]) + _OF_POD.format(metadata.get("uid", ""))
    found = (get(path) or {}).get("items") or ()
    if not found:
        what = "Kueue has not looked at it yet, or has no queue for it"
        return Obstacle(what, "See that its namespace has a LocalQueue by the name default.")
    return Obstacle(f"Kueue: {words_of(found[0]) or 'it has not said why'}", _FIX)


def _conditions(workload: Object) -> Mapping[str, Any]:
    listed = (workload.get("status") or {}).get("conditions") or ()
    return {condition["type"]: condition for condition in listed}


def is_behind(pods: Sequence[Object], listed: Callable[[str], Sequence[Object]]) -> bool:
    """Whether Kueue has something to do yet: to look at a pod, to let it go, or to try it again.

    Args:
        pods: all pods.
        listed: lists all of one of its kinds, by the plural.
    """
    going_on = [each for each in listed("workloads") if not _is(each, "Finished")]
    alive = {pod["metadata"]["uid"] for pod in pods if pod["status"].get("phase") not in _OVER}
    known: dict[str, Object] = {}
    for workload in going_on:
        of = [o["uid"] for o in _owners(workload) if o["kind"] == "Pod"]
        known |= dict.fromkeys(of, workload)
        if of and _is(workload, "QuotaReserved") and alive.isdisjoint(of):
            return True  # its shares are free as soon as Kueue sees it
    for pod in filter(waits_in_queue, pods):
        workload = known.get(pod["metadata"]["uid"], {})
        # A group has none before all its pods are there, which is up to whoever makes them.
        is_part = _GROUP_OF_PODS in (pod["metadata"].get("labels") or {})
        if _is(workload, "Admitted") or (not workload and not is_part):
            return True
    queues = {each["metadata"]["name"]: each for each in listed("clusterqueues")}
    reserved = Counter(
        each["status"].get("admission", {}).get("clusterQueue")
        for each in going_on
        if _is(each, "QuotaReserved")
    )
    if any(
        (queue.get("status") or {}).get("reservingWorkloads", 0) != reserved[name]
        for name, queue in queues.items()
    ):
        return True
    served = {
        (queue["metadata"]["namespace"], queue["metadata"]["name"]): queue["spec"]["clusterQueue"]
        for queue in listed("localqueues")
        if not _is(queue, "Active", "False")
    }
    waiting = [
        (each, queues[served[at]])
        for each in going_on
        if each["spec"].get("active", True) and not _is(each, "QuotaReserved")
        if (at := _queue_of(each)) in served and served[at] in queues
    ]
    if any("QuotaReserved" not in _conditions(each) for each, _ in waiting):
        return True
    if not waiting:
        return False
    every, cohorts = list(queues.values()), listed("cohorts")
    return any(has_room(each, queue, every, cohorts) for each, queue in waiting)


def _queue_of(workload: Object) -> tuple[str, str]:
    return workload["metadata"]["namespace"], workload["spec"].get("queueName", "")


def _is(given: Object, kind: str, status: str = "True") -> bool:
    return bool(_conditions(given).get(kind, {}).get("status") == status)


def _owners(workload: Object) -> Sequence[Object]:
    return workload["metadata"].get("ownerReferences") or ()


def borrowed(queues: Sequence[Object]) -> dict[str, int]:
    """What ClusterQueues have of others, by resource."""
    found: dict[str, int] = {}
    for name, count in _borrowed(queues):
        found[name] = found.get(name, 0) + count
    return {name: count for name, count in found.items() if count}


def _borrowed(queues: Sequence[Object]) -> Iterator[tuple[str, int]]:
    for queue in queues:
        for flavor in (queue.get("status") or {}).get("flavorsReservation") or ():
            for resource in flavor.get("resources") or ():
                text = str(resource.get("borrowed", "0"))
                yield resource["name"], int(text) if text.isascii() and text.isdigit() else 0
