"""What is written for simulated nodes: merge patches of nodes and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from eks_gpushare.live.pods import REFUSED
from eks_gpushare_lab.control_plane.names import ADMITTED
from eks_gpushare_lab.simulated_node.mps_server import CLIENT, WAITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.instance import Trouble
    from eks_gpushare_lab.simulated_node.mps_server import Turn
    from eks_gpushare_lab.simulated_node.node import SimulatedNode

LOG = "lab.eks-gpushare/log"
"""Annotation of a pod with what its program says about its configuration."""

MPS_BUSY = "MpsServerBusy"
"""Reason of a pod that is not ready since the MPS server of its node serves another user."""

_READY = ("Ready", "ContainersReady")


class PodProgram(Protocol):
    """A program whose pod shows what goes on in it."""

    uid: str
    """UID of the pod."""
    namespace: str
    """Namespace of the pod."""
    pod: str
    """Name of the pod."""
    node: str
    """Its node."""
    trouble: Trouble | None
    """What stops it."""

    def log(self) -> str:
        """What it would have written to its log."""
        ...


def node_status(node: Object, simulated: SimulatedNode) -> Object | None:
    """Capacity and allocatable that differ from what the node has, or None."""
    wanted = {"capacity": simulated.capacity, "allocatable": simulated.allocatable}
    change: dict[str, dict[str, str]] = {}
    for part, counts in wanted.items():
        there = node["status"].get(part, {})
        new = {name: str(count) for name, count in counts.items() if there.get(name) != str(count)}
        if new:
            change[part] = new
    return {"status": change} if change else None


def node_metadata(
    node: Object, labels: Mapping[str, str | None], notes: Mapping[str, str]
) -> Object | None:
    """Labels and annotations that differ from what the node has, or None; a label None goes."""
    metadata: Object = {}
    for part, wanted in (("labels", labels), ("annotations", notes)):
        there = node["metadata"].get(part) or {}
        new = {key: value for key, value in wanted.items() if there.get(key) != value}
        if new:
            metadata[part] = new
    return {"metadata": metadata} if metadata else None


def pod_path(instance: PodProgram) -> str:
    """Path of the pod of a program."""
    return f"/api/v1/namespaces/{instance.namespace}/pods/{instance.pod}"


def path_of(pod: Object) -> str:
    """Path of a pod."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def instance_state(instance: PodProgram) -> tuple[Object, Trouble | None]:
    """What a pod shows: its log as an annotation, and what stops it."""
    return {"metadata": {"annotations": {LOG: instance.log()}}}, instance.trouble


def pod_status(pod: Object, trouble: Any) -> Object | None:
    """Status of a pod whose containers wait, or run again; None if it is as it should be."""
    statuses = pod["status"].get("containerStatuses") or []
    waits = any("waiting" in (status.get("state") or {}) for status in statuses)
    if trouble is None and not waits:
        return None
    if trouble is None:
        state: Object = {"running": {"startedAt": pod["status"].get("startTime")}}
    else:
        state = {"waiting": {"reason": trouble.reason, "message": trouble.message}}
    ready = trouble is None
    return {
        "status": {
            "containerStatuses": [
                {**status, "ready": ready, "state": state} for status in statuses
            ],
            "conditions": _conditions(pod, ready=ready),
        }
    }


def admitted(pod: Object) -> Object:
    """What lets kwok start a pod. Of this pod only: one of the same name has to ask anew."""
    return {"metadata": {"uid": pod["metadata"]["uid"], "annotations": {ADMITTED: "true"}}}


def mps_turn(turn: Turn) -> tuple[Object | None, Object | None]:
    """What the MPS server's word on a pod changes: of its annotations, and of its status."""
    pod = turn.pod
    wanted = {CLIENT: None if turn.waits else turn.user, WAITS: turn.waits or None}
    there = pod["metadata"].get("annotations") or {}
    new = {key: value for key, value in wanted.items() if there.get(key) != value}
    metadata: Object = {"uid": pod["metadata"]["uid"], "annotations": new}
    return {"metadata": metadata} if new else None, _mps_status(pod, turn.waits)


def _mps_status(pod: Object, waits: str) -> Object | None:
    """Status of a running pod as its MPS server has it, or None if it is so."""
    ready = next((c for c in pod["status"].get("conditions") or [] if c["type"] == "Ready"), None)
    if pod["status"].get("phase") != "Running" or ready is None:
        return None
    held = ready.get("reason") == MPS_BUSY
    if held == bool(waits):
        return None
    statuses = pod["status"].get("containerStatuses") or []
    return {
        "status": {
            "containerStatuses": [{**status, "ready": not waits} for status in statuses],
            "conditions": _conditions(pod, ready=not waits, reason=MPS_BUSY, message=waits),
        }
    }


def not_ready(pod: Object) -> Object:
    """Status of a pod that is about to fail."""
    return {"status": {"conditions": _conditions(pod, ready=False, reason=REFUSED)}}


def failed(message: str) -> Object:
    """Status of a pod that the kubelet has refused."""
    return {"status": {"phase": "Failed", "reason": REFUSED, "message": message}}


def _conditions(pod: Object, *, ready: bool, reason: str = "", message: str = "") -> list[Object]:
    """The conditions of a pod with those about readiness replaced."""
    kept = [c for c in pod["status"].get("conditions") or [] if c["type"] not in _READY]
    value: Object = {"status": "True" if ready else "False"}
    if not ready:
        value["reason"] = reason or "ContainersNotReady"
        if message:
            value["message"] = message
    return [*kept, *({"type": condition, **value} for condition in _READY)]
