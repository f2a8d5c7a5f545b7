"""Pods that have a node and do not run: refused by its kubelet, or holding shares for nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.checks.programs import START_SECONDS, STARTING_REASONS, waiting_for
from eks_gpushare.live.checks.shares import counts_text
from eks_gpushare.live.checks.waiting import asked_of, counted_pods
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.nodes import counted_names
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import FAILED, REFUSED, STARTING, owner_of, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, PodOwner


def refused_faults(objects: ClusterObjects, namespace: str | None = None) -> Iterator[ClusterFault]:
    """Pods that a kubelet has refused, by what made them."""
    groups: dict[tuple[PodOwner, str], list[Object]] = defaultdict(list)
    for pod in objects.of("Pod"):
        reason = str(at(pod, "status", "reason") or "")
        is_refused = reason == REFUSED or reason.startswith("OutOf")
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
    for pod in objects.of("Pod"):
        if at(pod, "metadata", "deletionTimestamp") or state_of(pod) != STARTING:
            continue
        if namespace is not None and namespace_of(pod) != namespace:
            continue
        reason, message = waiting_for(pod)
        age = objects.seconds_since(at(pod, "metadata", "creationTimestamp"))
        is_young = age is not None and age < START_SECONDS
        if reason and not is_young and reason not in STARTING_REASONS and asked_of(pod["spec"]):
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
