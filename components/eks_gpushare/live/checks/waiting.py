"""Pods that ask for GPUs and do not run: for what they wait, and who refused them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.checks.shares import counts_text
from eks_gpushare.live.faults import ClusterFault, Link, gist_of_shares, pool_mark
from eks_gpushare.live.nodes import counted_names
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.placement import allocatable, mismatches, untolerated
from eks_gpushare.live.pods import (
    PENDING,
    condition,
    owner_of,
    requested,
    requested_by_node,
    state_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, PodOwner

_JUST_NOW: Final = 30.0
"""Seconds that a pod may wait before it is said to."""
_OF_SHARES: Final = (rules.SHARES_TAKEN, rules.LIMIT_REACHED, rules.NOT_LAUNCHED)
_LAUNCH_SECONDS: Final = 600.0
"""How long a node may take until pods run on it that wait for one, GPU driver and images too."""


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
    settling: Collection[str] = ()
    """Names of those that are about to advertise what they will."""
    queued: Sequence[Object] = ()
    """Workloads of Kueue."""

    def launched_for(self, waiting: Waiting) -> list[LaunchablePool]:
        """Pools of which an autoscaler may launch a node for a pod."""
        spec = with_extended_tolerations(waiting.pods[0]["spec"])
        return [
            launch
            for launch in self.launches
            if all(launch.offer.has(resource) is not False for resource in waiting.asked)
            and landing(
                spec, launch.offer.kind.nodes.taints, launch.offer.kind.label_once_found
            ).lands
            is not False
        ]

    def candidates(self, spec: Object) -> list[LiveNode]:
        """Nodes that a pod wants by their labels, as they are or as their pool declares them."""
        return [node for node in self.nodes if not mismatches(spec, self._as_declared(node))]

    def _as_declared(self, node: LiveNode) -> Object:
        labels = {**node.labels, **self.declared.get(node.name, {})}
        return {**node.object, "metadata": {**node.object["metadata"], "labels": labels}}


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
    taken = requested_by_node(objects.of("Pod"))
    found = {}
    for node in nodes:
        found[node.name] = free = allocatable(node.object)
        for name, amount in taken.get(node.name, {}).items():
            free[name] = free.get(name, Decimal()) - amount
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


def waiting_faults(
    objects: ClusterObjects, room: Room, namespace: str | None = None
) -> Iterator[ClusterFault]:
    """Why pods wait: at a gate, for a share, or for a node that there is not.

    Args:
        objects: The cluster.
        room: What its nodes have left.
        namespace: Of whose pods to speak. Default: all.
    """
    for waiting in waiting_of(objects, namespace):
        launches = room.launched_for(waiting)
        found = _why(waiting, room)
        if found is None:
            continue
        if launches and found.finding.code != rules.GATED.id:
            ages = (
                objects.seconds_since(at(pod, "metadata", "creationTimestamp"))
                for pod in waiting.pods
            )
            yield from _not_launched(waiting, launches, max(filter(None, ages), default=None))
        else:
            yield found


def _not_launched(
    waiting: Waiting, launches: Sequence[LaunchablePool], age: float | None
) -> Iterator[ClusterFault]:
    """What is wrong where a node should come and does not."""
    pools = tuple(dict.fromkeys(launch.pool for launch in launches))
    about = [pool_mark(pool) for pool in pools]
    asked = counts_text(waiting.asked)
    named = ", ".join(pools)
    if all(launch.left is not None and launch.left <= 0 for launch in launches):
        said = f"for {asked}, and {named} has all nodes that it may have"
        fix = "Raise nodes.max or the NodePool's limits, or run fewer pods."
        yield _fault(waiting, about, rules.LIMIT_REACHED, said, fix)
    elif age is None or age >= _LAUNCH_SECONDS:
        minutes = "" if age is None else f" for {age / 60:.0f} minutes"
        said = f"for {asked}{minutes}, and no node of {named} has come"
        fix = (
            "See the events of the pods and of the NodeClaims: kubectl get events -A "
            "--field-selector type=Warning; capacity, quota and limits are told there."
        )
        yield _fault(waiting, about, rules.NOT_LAUNCHED, said, fix)


def _why(waiting: Waiting, room: Room) -> ClusterFault | None:
    """Why pods wait; None where it is for no share, or for a node that is about to have it."""
    pod = waiting.pods[0]
    scheduled = condition(pod, "PodScheduled")
    gates = items(at(pod, "spec", "schedulingGates"))
    if gates:
        names = ", ".join(str(at(gate, "name")) for gate in gates)
        return _fault(
            waiting,
            (),
            rules.GATED,
            f"at the gate {names}",
            "See what put the gate there, such as kubectl get workloads -n "
            f"{waiting.owner.namespace} for Kueue.",
            tuple(_said_by_kueue(waiting, room.queued)),
        )
    spec = pod["spec"]
    candidates = room.candidates(spec)
    about = tuple(node.name for node in candidates)
    evidence = (f"its scheduler says: {at(scheduled, 'message')}",) if scheduled else ()
    kept_off: dict[tuple[NodeTaint, ...], list[str]] = {}
    for node in candidates:  # a thousand nodes have a few sets of taints
        if (taints := tuple(node.taints)) not in kept_off:
            kept_off[taints] = untolerated(spec, node.object)
    open_to = [node for node in candidates if not kept_off[tuple(node.taints)]]
    whole = [node for node in open_to if _has_all(node.advertised, waiting.asked)]
    if whole and any(node.is_ready and not node.is_cordoned for node in whole):
        return _for_room(waiting, about, whole, room, evidence)
    if any(node.name in room.settling for node in open_to if node not in whole):
        return None
    said = _why_never(spec, waiting, candidates, open_to, room)
    fix = "Correct what the pods ask for, or the node that they are meant for."
    return _fault(waiting, about, rules.NEVER_LANDS, said, fix, evidence)


def _said_by_kueue(waiting: Waiting, queued: Sequence[Object]) -> Iterator[str]:
    """What Kueue says of its Workload for pods or for what made them."""
    made_by = {(waiting.owner.kind, waiting.owner.name)}
    made_by |= {("Pod", name_of(pod)) for pod in waiting.pods}
    for workload in queued:
        owners = {
            (at(owner, "kind"), at(owner, "name"))
            for owner in items(at(workload, "metadata", "ownerReferences"))
        }
        if namespace_of(workload) != waiting.owner.namespace or not owners & made_by:
            continue
        reserved = condition(workload, "QuotaReserved") if workload.get("status") else None
        if at(reserved, "message"):
            yield f"Kueue says of the Workload {name_of(workload)}: {at(reserved, 'message')}"
            return


def _has_all(has: Mapping[str, int], asked: Mapping[str, int]) -> bool:
    return all(has.get(name, 0) >= count for name, count in asked.items())


def _for_room(
    waiting: Waiting,
    about: tuple[str, ...],
    nodes: Sequence[LiveNode],
    room: Room,
    evidence: tuple[str, ...],
) -> ClusterFault | None:
    wanted = requested(waiting.pods[0]["spec"])
    lacking = Counter(
        name
        for node in nodes
        for name, amount in wanted.items()
        if amount > room.free[node.name].get(name, Decimal())
    )
    resource = next((name for name in lacking if is_gpu_resource(name)), None)
    if not lacking:
        return None  # but for a volume, its neighbours, or a scheduler of its own
    if resource is None:
        return _fault(
            waiting,
            about,
            rules.SHARES_TAKEN,
            f"for {', '.join(lacking)} on {counted_names(node.name for node in nodes)}",
            "Request less of it, or use larger instances.",
            evidence,
        )
    total = sum(node.advertised[resource] for node in nodes)
    taken = sum(node.used.get(resource, 0) for node in nodes)
    return _fault(
        waiting,
        about,
        rules.SHARES_TAKEN,
        f"for {resource}, of which {taken} of {total} are taken on "
        f"{counted_names(node.name for node in nodes)}",
        "Wait for pods to end, run fewer, or let the pool have more nodes.",
        evidence,
    )


def _why_never(
    spec: Object,
    waiting: Waiting,
    candidates: Sequence[LiveNode],
    open_to: Sequence[LiveNode],
    room: Room,
) -> str:
    asked = counts_text(waiting.asked)
    if not room.nodes:
        return f"for {asked}, and no node has a GPU"
    if not candidates:
        why = mismatches(spec, room.nodes[0].object)
        return f"for {asked}, and no node with GPUs is wanted: {'; '.join(why)}"
    if not open_to:
        first = candidates[0]
        taints = ", ".join(untolerated(spec, first.object))
        return (
            f"for {asked}; {counted_names(node.name for node in candidates)} "
            f"ha{'s' if len(candidates) == 1 else 've'} taints that they do not tolerate: {taints}"
        )
    best = max(open_to, key=lambda node: sum(node.advertised.values()))
    if not _has_all(best.advertised, waiting.asked):
        return f"for {asked}, and {best.name} advertises {counts_text(best.advertised)}"
    states = dict.fromkeys("cordoned" if node.is_cordoned else "not ready" for node in open_to)
    are = "is" if len(open_to) == 1 else "are"
    named = counted_names(node.name for node in open_to)
    return f"for {asked}, and {named} {are} {' or '.join(states)}"


def _fault(
    waiting: Waiting,
    nodes: Sequence[str],
    rule: Rule,
    said: str,
    fix: str,
    evidence: tuple[str, ...] = (),
) -> ClusterFault:
    count = len(waiting.pods)
    first = waiting.pods[0]
    called = f"{waiting.owner.kind} {waiting.owner}"
    waits = f"{counted_pods(count)} wait{'s' * (count == 1)}"
    pods = "it waits" if waiting.owner.kind == "Pod" else waits
    finding = rule.finding(
        ("pods", f"{namespace_of(first)}/{name_of(first)}"), f"{called}: {pods} {said}.", fix
    )
    asked = counts_text(waiting.asked)
    short = f"{called}: {pods} for {asked}{' each' * (count > 1)}."
    about = frozenset(nodes)
    gist = gist_of_shares(asked, about) if rule in _OF_SHARES else ""
    return ClusterFault(
        finding, Link.PODS, about, waiting.owner, evidence, in_short=short, gist=gist
    )
