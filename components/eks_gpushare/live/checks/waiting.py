"""Pods that ask for GPUs and do not run: for what they wait, and who refused them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.checks.room import PODS, counted_pods, waiting_of
from eks_gpushare.live.checks.shares import counts_text
from eks_gpushare.live.faults import ClusterFault, Link, gist_of_shares, pool_mark
from eks_gpushare.live.kueue_words import words_of
from eks_gpushare.live.nodes import as_if_it_stayed, counted_names
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.placement import allocatable, mismatches, untolerated
from eks_gpushare.live.pods import condition, requested
from eks_gpushare.sharing.kueue import QUEUE_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.live.checks.room import LaunchablePool, Room, Waiting
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_OTHERS: Final = re.compile(
    r"persistentvolumeclaim|volume|anti-affinity|affinity rules|topology spread|free ports"
    r"|resourceclaim",
    re.IGNORECASE,
)
"""What the scheduler says of a pod that waits for something else than what nodes have."""
_SCHEDULER: Final = "default-scheduler"
_OF_SHARES: Final = (rules.SHARES_TAKEN, rules.LIMIT_REACHED, rules.NOT_LAUNCHED)
_OF_NO_NODE: Final = frozenset((rules.GATED.id, rules.WAITS_FOR_OTHER.id))
"""What another node would not mend."""
_LAUNCH_SECONDS: Final = 600.0
"""How long a node may take until pods run on it that wait for one, GPU driver and images too."""


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
        if launches and found.finding.code not in _OF_NO_NODE:
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
    gone = room.missing_for(waiting)
    about = (*(node.name for node in candidates), *map(pool_mark, gone))
    evidence = (f"its scheduler says: {at(scheduled, 'message')}",) if scheduled else ()
    kept_off: dict[tuple[NodeTaint, ...], list[str]] = {}
    for node in candidates:  # a thousand nodes have a few sets of taints
        if (taints := tuple(node.taints)) not in kept_off:
            kept_off[taints] = untolerated(spec, as_if_it_stayed(node.object))
    open_to = [node for node in candidates if not kept_off[tuple(node.taints)]]
    whole = [node for node in open_to if _has_all(node.advertised, waiting.asked)]
    if any(node.is_ready and not (node.is_cordoned or node.is_leaving) for node in whole):
        return _for_room(waiting, about, whole, room, evidence)
    if any(node.name in room.settling for node in open_to if node not in whole):
        return None
    said, fix = _why_never(spec, waiting, candidates, open_to, room)
    if gone:
        fix = f"See why nodes of {', '.join(gone)} are missing."
    found = _fault(waiting, about, rules.NEVER_LANDS, said, fix, evidence)
    return replace(found, wants_any=bool(open_to) and not any(n.advertised for n in open_to))


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
        if said := words_of(workload):
            yield f"Kueue says of the Workload {name_of(workload)}: {said}"
            break
    yield from _said_of_queue(waiting, queued)


def _said_of_queue(waiting: Waiting, queued: Sequence[Object]) -> Iterator[str]:
    """What keeps the queue of pods closed, as Kueue says it."""
    named = at(waiting.pods[0], "metadata", "labels", QUEUE_LABEL)
    local = _found(queued, "LocalQueue", named, waiting.owner.namespace)
    queue = _found(queued, "ClusterQueue", at(local, "spec", "clusterQueue"), "")
    active = condition(queue, "Active")
    if queue is not None and at(active, "status") == "False":
        yield f"Kueue says of the ClusterQueue {name_of(queue)}: {at(active, 'message')}"


def _found(objects: Sequence[Object], kind: str, name: object, namespace: str) -> Object | None:
    return next(
        (
            each
            for each in objects
            if each.get("kind") == kind
            and name_of(each) == name
            and namespace_of(each) == namespace
        ),
        None,
    )


def _has_all(has: Mapping[str, int], asked: Mapping[str, int]) -> bool:
    return all(has.get(name, 0) >= count for name, count in asked.items())


def _for_room(
    waiting: Waiting,
    about: tuple[str, ...],
    nodes: Sequence[LiveNode],
    room: Room,
    evidence: tuple[str, ...],
) -> ClusterFault | None:
    wanted = {**requested(waiting.pods[0]["spec"]), PODS: Decimal(1)}
    lacking = Counter(
        name
        for node in nodes
        for name, amount in wanted.items()
        if amount > room.free[node.name].get(name, Decimal())
        and (name != PODS or PODS in room.free[node.name])
    )
    if not lacking:
        return _for_other(waiting, about, evidence)
    named = counted_names(node.name for node in nodes)
    resource = next((name for name in lacking if is_gpu_resource(name)), None)
    if resource is None:
        most = [(node, allocatable(node.object)) for node in nodes]
        for name in lacking:
            larger = max(most, key=lambda one: one[1].get(name, Decimal()))
            if wanted[name] > larger[1].get(name, Decimal()):
                said = f"for {name}, of which one asks for more than {larger[0].name} has in all"
                fix = "Request less of it, or use larger instances."
                found = _fault(waiting, about, rules.NEVER_LANDS, said, fix, evidence)
                return replace(found, is_cause_only=True)
        if set(lacking) == {PODS}:
            said = f"for room, and {named} ha{'s' if len(nodes) == 1 else 've'} as many pods as may"
            fix = "Let nodes have more: cluster.addons.prefixDelegation, or larger instances."
            return _fault(waiting, about, rules.SHARES_TAKEN, said, fix, evidence)
        said = f"for {', '.join(lacking)} on {named}"
        fix = "Request less of it, or use larger instances."
        return _fault(waiting, about, rules.SHARES_TAKEN, said, fix, evidence)
    total = sum(node.advertised[resource] for node in nodes)
    taken = sum(node.used.get(resource, 0) for node in nodes)
    return _fault(
        waiting,
        about,
        rules.SHARES_TAKEN,
        f"for {resource}, of which {taken} of {total} are taken on {named}",
        "Wait for pods to end, run fewer, or let the pool have more nodes.",
        evidence,
    )


def _for_other(
    waiting: Waiting, about: tuple[str, ...], evidence: tuple[str, ...]
) -> ClusterFault | None:
    """Why pods wait that have room: for a volume, their neighbours, or their scheduler."""
    spec, scheduled = waiting.pods[0]["spec"], condition(waiting.pods[0], "PodScheduled")
    if scheduled is None:
        scheduler = str(spec.get("schedulerName") or _SCHEDULER)
        if scheduler == _SCHEDULER:
            return None
        said = f"for the scheduler {scheduler}, which has said nothing of them"
        fix = f"See whether {scheduler} runs, or take schedulerName away."
    elif _OTHERS.search(str(at(scheduled, "message"))):
        said = "for something else than a share, of which there are enough"
        fix = (
            f"See kubectl describe pod -n {waiting.owner.namespace} {name_of(waiting.pods[0])}: "
            "a volume, other pods or a rule of the pod keep it waiting."
        )
    else:
        return None
    return _fault(waiting, about, rules.WAITS_FOR_OTHER, said, fix, evidence)


def _why_never(
    spec: Object,
    waiting: Waiting,
    candidates: Sequence[LiveNode],
    open_to: Sequence[LiveNode],
    room: Room,
) -> tuple[str, str]:
    """Why pods never land, and what helps."""
    asked = counts_text(waiting.asked)
    if not room.nodes:
        return f"for {asked}, and no node has a GPU", "Add nodes with GPUs, or ask for none."
    if not candidates:
        why = mismatches(spec, room.nodes[0].object)
        said = f"for {asked}, and no node with GPUs is wanted: {'; '.join(why)}"
        return said, "Select on labels that the nodes have."
    if not open_to:
        first = candidates[0]
        taints = ", ".join(untolerated(spec, as_if_it_stayed(first.object)))
        said = (
            f"for {asked}; {counted_names(node.name for node in candidates)} "
            f"ha{'s' if len(candidates) == 1 else 've'} taints that they do not tolerate: {taints}"
        )
        return said, "Add tolerations to the pods, if they are meant for these nodes."
    best = max(open_to, key=lambda node: sum(node.advertised.values()))
    if not _has_all(best.advertised, waiting.asked):
        said = f"for {asked}, and {best.name} advertises {counts_text(best.advertised)}"
        return said, "Ask for what nodes advertise, or let them advertise what is asked for."
    states = dict.fromkeys(
        "about to go" if node.is_leaving else "cordoned" if node.is_cordoned else "not ready"
        for node in open_to
    )
    are = "is" if len(open_to) == 1 else "are"
    named = counted_names(node.name for node in open_to)
    said = f"for {asked}, and {named} {are} {' or '.join(states)}"
    return said, f"See kubectl describe node {open_to[0].name}, or let the pool have more nodes."


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
