"""Whether NVIDIA's programs are on the nodes, and run there."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.daemons import TITLES, role_of
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import without_operands
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.connection import in_short
from eks_gpushare.live.faults import Link, NodeFault
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.placement import keeping_off
from eks_gpushare.live.pods import PodOwner, condition
from eks_gpushare.live.refusals import refusals_of, why_no_pod
from eks_gpushare.live.stuck_pods import INITIALISING, STARTING_REASONS, said_of, warnings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_daemonsets import Role
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_HARM: Final[Mapping[Role, str]] = {
    "plugin": "nothing advertises its GPUs",
    "discovery": "nothing labels it by its GPUs",
    "mps": "no pod gets a share of MPS",
    "migManager": "nothing cuts its GPUs",
}
"""What comes of it, by role, of those without which something is missing."""
_NOT_NEEDED: Final[Mapping[Role, str]] = {
    "nfd": "its labels stay as they are",
    "exporter": "nothing measures its GPUs",
}
"""The same of those without which pods get their shares all the same."""
_SOME: Final[Mapping[Role, str]] = {"plugin": "a device plugin", "mps": "an MPS control daemon"}
_STRATEGY: Final = "nvidia.com/gpu.sharing-strategy"
"""Label by which GPU feature discovery tells how GPUs are shared."""
_SETTLED_SECONDS: Final = 60.0
"""After how long a kubelet has registered a plugin that is ready, or one that was ended is gone."""
_LOOP: Final = "CrashLoopBackOff"
_NO_IMAGE: Final = frozenset(("ImagePullBackOff", "ErrImagePull", "InvalidImageName"))
_GENERATION: Final = ("metadata", "generation")
START_SECONDS: Final = 300.0
"""How long a pod may take to start: images of NVIDIA's have half a gigabyte."""
_VALIDATION: Final = "driver-validation"


class NodePrograms(NamedTuple):
    """NVIDIA's DaemonSets and their pods."""

    sets: Mapping[str, Sequence[Object]]
    """DaemonSets by role."""
    on: Mapping[tuple[str, str], Sequence[Object]]
    """Pods of a role on a node, by the node's name and the role."""
    ending: frozenset[tuple[str, str]]
    """Nodes and roles with a pod that is about to go, and whose next comes only then."""
    unplaced: Mapping[tuple[str, str], Sequence[Object]] = MappingProxyType({})
    """Pods of a role that are meant for a node and wait for it, as `on` has others."""
    validators: Mapping[str, Object] = MappingProxyType({})
    """The GPU Operator's validator on a node, for which init containers of others wait."""

    def served(self) -> frozenset[str]:
        """Names of nodes on which a device plugin is ready."""
        return frozenset(
            node
            for (node, role), pods in self.on.items()
            if role == "plugin" and any(map(_is_ready, pods))
        )

    def settling(self, objects: ClusterObjects) -> frozenset[str]:
        """Names of nodes on which a device plugin is ended or started, as an update does it.

        Their kubelet takes what they advertise away until the next one has registered.

        Args:
            objects: The cluster.
        """
        started = {
            node
            for (node, role), pods in self.on.items()
            if role == "plugin" and any(_is_new(objects, pod) for pod in pods)
        }
        return frozenset(started | {node for node, role in self.ending if role == "plugin"})


def programs_of(objects: ClusterObjects) -> NodePrograms:
    """NVIDIA's programs in a cluster."""
    sets: dict[str, list[Object]] = defaultdict(list)
    for daemon_set in objects.of("DaemonSet"):
        role = role_of(at(daemon_set, "spec", "template", "spec"))
        if role is not None:
            sets[role].append(daemon_set)
    on: dict[tuple[str, str], list[Object]] = defaultdict(list)
    unplaced: dict[tuple[str, str], list[Object]] = defaultdict(list)
    validators: dict[str, Object] = {}
    ending: set[tuple[str, str]] = set()
    for pod in objects.of("Pod"):
        owner = next(iter(items(at(pod, "metadata", "ownerReferences"))), None)
        is_daemon = at(owner, "kind") == "DaemonSet"
        role = role_of(at(pod, "spec")) if is_daemon else None
        if is_daemon and _validates(pod):
            validators[str(at(pod, "spec", "nodeName") or "")] = pod
        if role is None:
            continue
        place = str(at(pod, "spec", "nodeName") or ""), role
        if at(pod, "metadata", "deletionTimestamp") is None:
            if place[0]:
                on[place].append(pod)
            for name in _meant_for(pod) if not place[0] else ():
                unplaced[name, role].append(pod)
        elif _is_within(objects, at(pod, "metadata", "deletionTimestamp"), _SETTLED_SECONDS):
            ending.add(place)
    return NodePrograms(sets, on, frozenset(ending), unplaced, validators)


def _validates(pod: Object) -> bool:
    return any(at(each, "name") == _VALIDATION for each in items(at(pod, "spec", "initContainers")))


def _meant_for(pod: Object) -> Iterator[str]:
    """Names of nodes that a pod may be on alone, as the controller of DaemonSets writes them."""
    for term in required_terms(at(pod, "spec")) or ():
        for field in items(at(term, "matchFields")):
            if at(field, "key") == "metadata.name":
                yield from items(at(field, "values"))


def program_faults(
    objects: ClusterObjects,
    nodes: Iterable[LiveNode],
    programs: NodePrograms,
    kinds: Mapping[str, NodeKind],
    *,
    by_claims: bool = False,
) -> Iterator[NodeFault]:
    """Nodes without a program that they need, or with one that does not run.

    Args:
        objects: The cluster.
        nodes: Its nodes with GPUs.
        programs: What runs there.
        kinds: How the inventory has the nodes, by their names.
        by_claims: Whether a driver hands GPUs out by claims, so that no plugin has to be there.
    """
    if {"DaemonSet", "Pod"} & set(objects.unread):
        return
    refusals, warnings = refusals_of(objects), warnings_of(objects)
    for node in nodes:
        kind = kinds.get(node.name)
        if node.is_leaving or not node.is_ready or (kind is not None and kind.serves_itself):
            continue
        if programs.sets.get("plugin") or not by_claims:
            yield from _without(node, "plugin", programs, kind, refusals)
        if node.labels.get(_STRATEGY) == "mps":
            yield from _without(node, "mps", programs, kind, refusals)
        for role in (*_HARM, *_NOT_NEEDED):
            yield from _not_running(objects, node, role, programs, warnings)


def _without(
    node: LiveNode,
    role: Role,
    programs: NodePrograms,
    kind: NodeKind | None,
    refusals: Mapping[PodOwner, str],
) -> Iterator[NodeFault]:
    """Of all programs the plugin alone has to be on every node, and MPS where it is shared so."""
    place = node.name, role
    if programs.on.get(place) or place in programs.ending or node.is_joining:
        return
    if kind is not None and without_operands(kind.nodes):
        return
    if node.type is None and node.advertised:
        return  # of no machine of AWS, by whatever its cloud has there
    sets = programs.sets.get(role, ())
    if not sets:
        yield NodeFault(
            rules.NOT_REACHED,
            Link.PROGRAMS,
            node,
            f"no DaemonSet runs {_SOME[role]}, so {_HARM[role]}.",
            "Install NVIDIA's chart nvidia-device-plugin, or the GPU Operator.",
        )
        return
    nearest = min(sets, key=lambda one: len(keeps_off(one, node)))
    why = keeps_off(nearest, node)
    if not why and is_changed_just_now(nearest):
        return
    called = f"{namespace_of(nearest)}/{name_of(nearest)}"
    fix = "Let the DaemonSet's tolerations, node selector and affinity match the node."
    gist = ""
    if not why:
        why, fix = not_made(nearest, node, programs.unplaced.get(place, ()), refusals)
        gist = f"{called} {why[0]}"  # of the DaemonSet, whichever pools it is for
    yield NodeFault(
        rules.NOT_REACHED,
        Link.PROGRAMS,
        node,
        f"no pod of {TITLES[role]} ({called}) is on it, so {_HARM[role]}: {'; '.join(why)}.",
        fix,
        in_short=f"no pod of {TITLES[role]} is on it.",
        gist=gist,
    )


def not_made(
    daemon_set: Object,
    node: LiveNode,
    unplaced: Sequence[Object],
    refusals: Mapping[PodOwner, str],
) -> tuple[list[str], str]:
    """Why a DaemonSet that is for a node has no pod there, and what helps.

    Args:
        daemon_set: The DaemonSet.
        node: The node.
        unplaced: Its pods that wait for the node.
        refusals: What is said of pods that could not be created, by what should make them.
    """
    space = namespace_of(daemon_set)
    for pod in unplaced:
        said = str(at(condition(pod, "PodScheduled"), "message") or "nothing").rstrip(".")
        fix = f"See kubectl describe pod -n {space} {name_of(pod)}, and make room for it."
        return [f"its pod waits, and the scheduler says: {said}"], fix
    fix = f"See kubectl describe daemonset -n {space} {name_of(daemon_set)}."
    return why_no_pod(daemon_set, node.object, refusals), fix


def is_changed_just_now(daemon_set: Object) -> bool:
    """Whether its controller has not looked at it since it was written."""
    seen, written = at(daemon_set, "status", "observedGeneration"), at(daemon_set, *_GENERATION)
    return isinstance(seen, int) and isinstance(written, int) and seen < written


def keeps_off(daemon_set: Object, node: LiveNode) -> list[str]:
    """What keeps the pods of a DaemonSet off a node for good, in words."""
    return keeping_off(at(daemon_set, "spec", "template", "spec") or {}, node.object)


def _not_running(
    objects: ClusterObjects,
    node: LiveNode,
    role: Role,
    programs: NodePrograms,
    warnings: Mapping[tuple[str, str], str],
) -> Iterator[NodeFault]:
    for pod in programs.on.get((node.name, role), ()):
        if _is_ready(pod):
            continue
        age = objects.seconds_since(at(pod, "metadata", "creationTimestamp"))
        reason, message = waiting_for(pod)
        if reason in {"", *STARTING_REASONS} and (age is None or age < START_SECONDS):
            continue
        called = f"{namespace_of(pod)}/{name_of(pod)}"
        place = f"-n {namespace_of(pod)} {name_of(pod)}"
        message = message or in_short(said_of(warnings, pod, objects.at))
        said = f": {message.rstrip('.')}" if message else ""
        owner = items(at(pod, "metadata", "ownerReferences"))[0]
        harm = _HARM.get(role) or _NOT_NEEDED[role]
        yield NodeFault(
            rules.NOT_RUNNING,
            Link.PROGRAMS,
            node,
            f"{TITLES[role]} of {namespace_of(pod)}/{owner['name']} is "
            f"{reason or str(at(pod, 'status', 'phase'))}{said}, so {harm}.",
            f"See kubectl describe pod {place}, and correct its image."
            if reason in _NO_IMAGE
            else f"See kubectl logs {place} --all-containers --previous.",
            f"pod {called}{_validator_text(programs.validators.get(node.name), reason)}",
            severity="warning" if role in _NOT_NEEDED else None,
            explains_nothing=role in _NOT_NEEDED,
            alike=f"{role} {owner['name']} {reason}",
            gist=f"{reason} {node.name}" if reason == INITIALISING else "",
        )


def _validator_text(validator: Object | None, reason: str) -> str:
    """What the operator's validator waits for, for which another pod's init container waits."""
    if validator is None or reason != INITIALISING or _is_ready(validator):
        return ""
    why, message = waiting_for(validator)
    said = ": ".join(filter(None, (why, message)))
    called = f"{namespace_of(validator)}/{name_of(validator)}"
    return f"; the validator {called} is not ready{f', {said}' if said else ''}"


def _is_ready(pod: Object) -> bool:
    return bool(at(condition(pod, "Ready"), "status") == "True")


def _is_new(objects: ClusterObjects, pod: Object) -> bool:
    """Whether a pod is about to start, or has just become ready."""
    if _is_ready(pod):
        since = at(condition(pod, "Ready"), "lastTransitionTime")
        made = at(pod, "metadata", "creationTimestamp")
        return _is_within(objects, since or made, _SETTLED_SECONDS)
    is_young = _is_within(objects, at(pod, "metadata", "creationTimestamp"), START_SECONDS)
    return is_young and waiting_for(pod)[0] in {"", *STARTING_REASONS}


def _is_within(objects: ClusterObjects, time: object, seconds: float) -> bool:
    since = objects.seconds_since(time)
    return since is not None and since < seconds


def waiting_for(pod: Object) -> tuple[str, str]:
    """Reason and message of the first container that waits or has failed; empty without one."""
    running = next(
        (
            str(at(status, "name"))
            for status in items(at(pod, "status", "initContainerStatuses"))
            if at(status, "state", "running") is not None and not at(status, "ready")
        ),
        "",
    )
    for part in ("initContainerStatuses", "containerStatuses"):
        for status in items(at(pod, "status", part)):
            waits = at(status, "state", "waiting")
            last = at(status, "lastState", "terminated")
            if waits is not None:
                reason = str(at(waits, "reason") or "waiting")
                if running and reason == INITIALISING:
                    return reason, f"its init container {running} has not come to its end"
                # Of a loop the kubelet says how long it pauses, and the pod's name.
                message = "" if reason == _LOOP and last else str(at(waits, "message") or "")
                return reason, message or _ended(last)
            ended = at(status, "state", "terminated")
            if ended is not None and at(ended, "exitCode"):
                return str(at(ended, "reason") or "Error"), str(at(ended, "message") or "")
    return "", ""


def _ended(last: Any) -> str:
    """How a container ended, as its last state has it."""
    if last is None:
        return ""
    reason, code = str(at(last, "reason") or "Error"), at(last, "exitCode")
    message = in_short(str(at(last, "message") or ""))
    told = reason if code is None or reason == "Completed" else f"{reason}, exit code {code}"
    return f"{told}: {message}" if message else told
