"""What Kueue says of pods that it holds back: the condition of the Workload that it makes of each.

Source: `apis/kueue/v1beta2/workload_types.go` and `pkg/controller/constants` of
kubernetes-sigs/kueue, at the version in `binaries.versions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare_lab.observing.obstacles import Obstacle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eks_gpushare_lab.client import Object

GATE: Final = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that wait in a queue."""
GROUP: Final = "/apis/kueue.x-k8s.io/v1beta2"
"""Where its kinds are."""
_WORKLOADS = f"{GROUP}/namespaces/{{}}/workloads"
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
    return Obstacle(f"Kueue: {words(found[0])}", _FIX)


def words(workload: Object) -> str:
    """Why a Workload of Kueue is not admitted, in Kueue's words."""
    conditions = _conditions(workload)
    for kind, status in (("Evicted", "True"), ("QuotaReserved", "False"), ("Admitted", "False")):
        found = conditions.get(kind)
        if found is not None and found.get("status") == status and found.get("message"):
            return str(found["message"])
    return "it has not said why"


def _conditions(workload: Object) -> Mapping[str, Any]:
    listed = (workload.get("status") or {}).get("conditions") or ()
    return {condition["type"]: condition for condition in listed}


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
