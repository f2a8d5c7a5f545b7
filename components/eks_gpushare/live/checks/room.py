"""Pods that ask for GPUs and have no node, and what the nodes of a cluster have left for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.values import at
from eks_gpushare.live.checks.shares import counts_text
from eks_gpushare.live.objects import namespace_of
from eks_gpushare.live.placement import allocatable, mismatches
from eks_gpushare.live.pods import (
    PENDING,
    on_nodes,
    owner_of,
    requested,
    requested_by_node,
    state_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, PodOwner

PODS: Final = "pods"
"""As a resource: how many a node may have."""
_JUST_NOW: Final = 30.0
"""Seconds that a pod may wait before it is said to."""


@dataclass(slots=True)
class Waiting:
    """Pods of one workload that wait for the same."""

    owner: PodOwner
    asked: Mapping[str, int]
    """GPU resources of one pod."""
    pods: list[Object] = field(default_factory=list)


class LaunchablePool(NamedTuple):
    """Nodes of a pool that an autoscaler adds for pods that wait."""

    pool: str
    offer: Offer
    """What one of them would have."""
    left: int | None
    """How many more there may be; None where nothing says."""


@dataclass(frozen=True, slots=True)
class Room:
    """What the nodes of a cluster have left for a pod."""

    nodes: Sequence[LiveNode]
    free: Mapping[str, Mapping[str, Decimal]]
    """What no pod has taken, by node and resource."""
    declared: Mapping[str, Mapping[str, str]]
    """Labels that a node's pool declares, by the node."""
    launches: Sequence[LaunchablePool] = ()
    """Nodes that an autoscaler may add."""
    missing: Sequence[LaunchablePool] = ()
    """Nodes that should be there all the time and are not."""
    settling: Collection[str] = ()
    """Names of those that are about to advertise what they will."""
    queued: Sequence[Object] = ()
    """Workloads and queues of Kueue."""

    def launched_for(self, waiting: Waiting) -> list[LaunchablePool]:
        """Pools of which an autoscaler may launch a node for a pod."""
        return _for_whom(waiting, self.launches)

    def missing_for(self, waiting: Waiting) -> list[str]:
        """Pools whose nodes a pod would land on, were they there."""
        return [lacking.pool for lacking in _for_whom(waiting, self.missing)]

    def candidates(self, spec: Object) -> list[LiveNode]:
        """Nodes that a pod wants by their labels, as they are or as their pool declares them."""
        if not spec.get("nodeSelector") and required_terms(spec) is None:
            return list(self.nodes)  # of most pods, which are thousands
        return [node for node in self.nodes if not mismatches(spec, self._as_declared(node))]

    def _as_declared(self, node: LiveNode) -> Object:
        labels = {**node.labels, **self.declared.get(node.name, {})}
        return {**node.object, "metadata": {**node.object["metadata"], "labels": labels}}


def _for_whom(waiting: Waiting, pools: Iterable[LaunchablePool]) -> list[LaunchablePool]:
    spec = with_extended_tolerations(waiting.pods[0]["spec"])
    return [
        each
        for each in pools
        if all(each.offer.has(resource) is not False for resource in waiting.asked)
        and landing(spec, each.offer.kind.nodes.taints, each.offer.kind.label_once_found).lands
        is not False
    ]


def counted_pods(count: int) -> str:
    """A number of pods in words."""
    return f"{count} pod{'' if count == 1 else 's'}"


def asked_of(spec: Object) -> dict[str, int]:
    """GPU resources that a pod asks for."""
    return {name: int(count) for name, count in requested(spec).items() if is_gpu_resource(name)}


def free_of_all(
    objects: ClusterObjects, nodes: Iterable[LiveNode]
) -> dict[str, dict[str, Decimal]]:
    """What the pods on each node leave of it."""
    pods = objects.of("Pod")
    taken = requested_by_node(pods)
    count = Counter(node for node, _ in on_nodes(pods))
    found = {}
    for node in nodes:
        found[node.name] = free = allocatable(node.object)
        for name, amount in taken.get(node.name, {}).items():
            free[name] = free.get(name, Decimal()) - amount
        if PODS in free:
            free[PODS] -= count[node.name]
    return found


def waiting_of(objects: ClusterObjects, namespace: str | None) -> list[Waiting]:
    """Pods that ask for GPUs and have no node yet, by what made them."""
    found: dict[tuple[PodOwner, str], Waiting] = {}
    for pod in objects.of("Pod"):
        if state_of(pod) != PENDING or at(pod, "metadata", "deletionTimestamp"):
            continue
        if namespace is not None and namespace_of(pod) != namespace:
            continue
        asked = asked_of(pod["spec"])
        age = objects.seconds_since(at(pod, "metadata", "creationTimestamp"))
        if not asked or (age is not None and age < _JUST_NOW):
            continue
        owner = owner_of(pod)
        key = owner, counts_text(asked)
        found.setdefault(key, Waiting(owner, asked)).pods.append(pod)
    return list(found.values())
