"""Pods that have a node and do not run: refused by its kubelet, or holding shares for nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.checks.programs import START_SECONDS, waiting_for
from eks_gpushare.live.checks.room import asked_of, counted_pods
from eks_gpushare.live.checks.shares import counts_text
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.nodes import counted_names
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import FAILED, REFUSED, RUNNING, STARTING, owner_of, state_of
from eks_gpushare.live.stuck_pods import STARTING_REASONS, said_of, warnings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, PodOwner

_PULL_SECONDS: Final = 1800.0
"""How long containers may take to be created, images of tens of gigabytes among them."""
_ENDING: Final = "Terminating"
_CREATING: Final = "ContainerCreating"
_PREDICATES: Final = frozenset(
    (REFUSED, "TopologyAffinityError", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration")
)
"""Reasons of pods that a kubelet does not admit, beside those that begin with `OutOf`:
https://github.com/kubernetes/kubernetes/blob/v1.35.4/pkg/kubelet/lifecycle/predicate.go."""


def refused_faults(objects: ClusterObjects, namespace: str | None = None) -> Iterator[ClusterFault]:
    """Pods that a kubelet has refused, by what made them."""
    groups: dict[tuple[PodOwner, str], list[Object]] = defaultdict(list)
    for pod in objects.of("Pod"):
        reason = str(at(pod, "status", "reason") or "")
        is_refused = reason in _PREDICATES or reason.startswith("OutOf")
        if state_of(pod) != FAILED or not is_refused or not asked_of(pod["spec"]):
            continue
        if namespace is None or namespace_of(pod) == namespace:
            groups[owner_of(pod), reason].append(pod)
    for (owner, reason), pods in groups.items():
        first = pods[0]
        nodes = {str(at(pod, "spec", "nodeName") or "") for pod in pods}
        finding = rules.REFUSED_BY_KUBELET.finding(
            ("pods", f"{namespace_of(first)}/{name_of(first)}"),
            f"{owner.kind} {owner}: the kubelet of {counted_names(nodes)} refused "
            f"{counted_pods(len(pods))}: {reason}.",
            f"Delete them once the cause is mended: kubectl delete pods -n {owner.namespace} "
            "--field-selector=status.phase=Failed.",
        )
        said = str(at(first, "status", "message") or "")
        evidence = (said,) if said else ()
        yield ClusterFault(finding, Link.PODS, frozenset(nodes), owner, evidence)


def held_faults(objects: ClusterObjects, namespace: str | None = None) -> Iterator[ClusterFault]:
    """Pods that have a share of a node and whose containers do not run, by what made them."""
    groups: dict[tuple[PodOwner, str], list[Object]] = defaultdict(list)
    messages: dict[tuple[PodOwner, str], str] = {}
    warnings = warnings_of(objects)
    for pod in objects.of("Pod"):
        if namespace is not None and namespace_of(pod) != namespace:
            continue
        if at(pod, "metadata", "deletionTimestamp"):
            reason, message = _ending_for(objects, pod)
        else:
            reason, message = _starting_for(objects, pod, warnings)
        if reason and asked_of(pod["spec"]):
            groups[owner_of(pod), reason].append(pod)
            messages.setdefault((owner_of(pod), reason), message)  # some name their pod
    for (owner, reason), pods in groups.items():
        first, count, message = pods[0], len(pods), messages[owner, reason]
        taken = Counter[str]()
        for pod in pods:
            taken.update(asked_of(pod["spec"]))
        said = f": {message.rstrip('.')}" if message else ""
        do, hold = ("does", "holds") if count == 1 else ("do", "hold")
        finding = rules.HELD_BY_NOTHING.finding(
            ("pods", f"{namespace_of(first)}/{name_of(first)}"),
            f"{owner.kind} {owner}: {counted_pods(count)} {do} not run and {hold} "
            f"{counts_text(taken)}: {reason}{said}.",
            f"See kubectl describe pod -n {namespace_of(first)} {name_of(first)}, and let go of "
            "the shares until it is mended.",
        )
        nodes = frozenset(str(at(pod, "spec", "nodeName")) for pod in pods)
        yield ClusterFault(finding, Link.PODS, nodes, owner)


def _starting_for(
    objects: ClusterObjects, pod: Object, warnings: Mapping[tuple[str, str], str]
) -> tuple[str, str]:
    """Why a pod that has a node does not run, where it should by now."""
    reason, message = waiting_for(pod) if state_of(pod) == STARTING else ("", "")
    age = objects.seconds_since(at(pod, "metadata", "creationTimestamp"))
    why = said_of(warnings, pod, objects.at) if not message else ""
    least = _PULL_SECONDS if reason in STARTING_REASONS and not why else START_SECONDS
    reason, message = (reason or _CREATING if why else reason), message or why
    return ("", "") if age is not None and age < least else (reason, message)


def _ending_for(objects: ClusterObjects, pod: Object) -> tuple[str, str]:
    """Why a pod that was deleted keeps its share, where it should be gone by now."""
    # It is the time by which its containers have to have ended.
    late = objects.seconds_since(at(pod, "metadata", "deletionTimestamp"))
    has_node = at(pod, "spec", "nodeName") and state_of(pod) in {RUNNING, STARTING}
    if not has_node or late is None or late < START_SECONDS:
        return "", ""
    kept_by = [str(name) for name in items(at(pod, "metadata", "finalizers"))]
    if kept_by:
        return _ENDING, f"its finalizer is {', '.join(kept_by)}"
    return _ENDING, "its node's kubelet has not ended it"
