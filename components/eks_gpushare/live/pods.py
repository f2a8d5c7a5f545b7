"""What a pod's object tells: what made it, how far it is, and what it takes of its node."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.live.placement import Object as Object  # noqa: PLC0414  (handed on)
from eks_gpushare.live.placement import requested

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNNING, PENDING, STARTING, FAILED, SUCCEEDED = "running", "pending", "starting", "failed", "done"
"""States of a pod: `pending` has no node, `starting` has one and is not ready."""

REFUSED = "UnexpectedAdmissionError"
"""Reason of a pod that the kubelet of its node has refused."""


class PodOwner(NamedTuple):
    """What makes pods, or a pod that nothing made."""

    namespace: str
    """Its namespace."""
    kind: str
    """Deployment, StatefulSet, DaemonSet, Job, CronJob, ReplicaSet or Pod."""
    name: str
    """Its name."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def owner_of(pod: Object) -> PodOwner:
    """What made a pod."""
    metadata = pod["metadata"]
    namespace = metadata["namespace"]
    owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
    if owner is None:
        return PodOwner(namespace, "Pod", metadata["name"])
    template = (metadata.get("labels") or {}).get("pod-template-hash")
    if owner["kind"] == "ReplicaSet" and template:
        return PodOwner(namespace, "Deployment", owner["name"].removesuffix(f"-{template}"))
    return PodOwner(namespace, owner["kind"], owner["name"])


def state_of(pod: Object) -> str:
    """State of a pod."""
    status = pod["status"]
    phase = status.get("phase")
    if phase == "Running":
        conditions = status.get("conditions") or ()
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        return RUNNING if ready else STARTING
    if phase in {"Succeeded", "Failed"}:
        return SUCCEEDED if phase == "Succeeded" else FAILED
    return STARTING if pod["spec"].get("nodeName") else PENDING


def condition(pod: Object, kind: str) -> Object | None:
    """A condition of a pod, or None."""
    return next((c for c in pod["status"].get("conditions") or () if c["type"] == kind), None)


class ShareHolder(NamedTuple):
    """A pod on a node, and what it has of one of NVIDIA's resources."""

    owner: PodOwner
    pod: str
    """Its name."""
    resource: str
    shares: int


def holders_by_node(pods: Iterable[Object]) -> dict[str, list[ShareHolder]]:
    """What the pods on each node have asked for, by node."""
    found: dict[str, list[ShareHolder]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if not node or pod["status"].get("phase") in {"Succeeded", "Failed"}:
            continue
        asked = {
            name: int(amount)
            for name, amount in requested(pod["spec"]).items()
            if name.startswith("nvidia.com/")
        }
        if asked:
            owner, name = owner_of(pod), pod["metadata"]["name"]
            found.setdefault(node, []).extend(
                ShareHolder(owner, name, resource, count) for resource, count in asked.items()
            )
    return found


def used_by_node(pods: Iterable[Object]) -> dict[str, Counter[str]]:
    """The same added up, by node and NVIDIA resource."""
    return {node: used_of(holders) for node, holders in holders_by_node(pods).items()}


def used_of(holders: Iterable[ShareHolder]) -> Counter[str]:
    """What some pods have together, by resource."""
    used: Counter[str] = Counter()
    for holder in holders:
        used[holder.resource] += holder.shares
    return used
