"""What a pod's object tells: what made it, how far it is, and what it takes of its node."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from eks_gpushare.inventory.pod_totals import containers, pod_total, turn_of
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.amounts import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Object: TypeAlias = "dict[str, Any]"
"""An object of Kubernetes as JSON data."""

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


def condition(given: Object | None, kind: str) -> Object | None:
    """A condition of a pod, or of any object that has some; None if it has not that one."""
    found = items(at(given, "status", "conditions"))
    return next((each for each in found if at(each, "type") == kind), None)


def requested(spec: Object) -> dict[str, Decimal]:
    """What a pod asks for in all, by resource, with what its runtime class takes."""
    total = pod_total(
        (turn_of(kind, container), _requests(container))
        for (kind, _), container in containers(spec)
    )
    own = (spec.get("resources") or {}).get("requests") or {}  # in place of the containers' sum
    total |= {name: quantity(amount) for name, amount in own.items()}
    for name, amount in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Decimal()) + quantity(amount)
    return total


def _requests(container: Mapping[str, Any]) -> dict[str, Decimal]:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(amount) for name, amount in asked.items()}


def on_nodes(pods: Iterable[Object]) -> Iterator[tuple[str, Object]]:
    """Those that have a node and have not ended, with its name."""
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and pod["status"].get("phase") not in {"Succeeded", "Failed"}:
            yield node, pod


def requested_by_node(pods: Iterable[Object]) -> dict[str, dict[str, Decimal]]:
    """What the pods on each node ask for together, by node and resource."""
    found: dict[str, dict[str, Decimal]] = {}
    for node, pod in on_nodes(pods):
        total = found.setdefault(node, {})
        for name, amount in requested(pod["spec"]).items():
            total[name] = total.get(name, Decimal()) + amount
    return found


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
    for node, pod in on_nodes(pods):
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
