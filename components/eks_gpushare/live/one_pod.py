"""`verify --pod`: why one pod does not run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.inventory.values import at
from eks_gpushare.live.checks.programs import waiting_for
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import RUNNING, SUCCEEDED, condition, owner_of, state_of

if TYPE_CHECKING:
    from eks_gpushare.live.faults import ClusterFault
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, PodOwner
    from eks_gpushare.live.verdict import ClusterVerdict

_NAMED = 10


def of_pod(verdict: ClusterVerdict, objects: ClusterObjects, named: str) -> ClusterVerdict:
    """What of a verdict is about one pod.

    Args:
        verdict: That of the cluster.
        objects: The cluster.
        named: Namespace and name; without a namespace that of the name `default`.

    Raises:
        CannotLookError: If there is no such pod.
    """
    space, slash, name = named.partition("/")
    namespace, name = (space, name) if slash else ("default", space)
    pod = next(
        (
            pod
            for pod in objects.of("Pod")
            if name_of(pod) == name and namespace_of(pod) == namespace
        ),
        None,
    )
    if pod is None:
        there = [name_of(pod) for pod in objects.of("Pod") if namespace_of(pod) == namespace]
        listed = ", ".join(sorted(there)[:_NAMED]) or "none"
        raise CannotLookError(
            f"There is no pod {name} in the namespace {namespace}; pods there are {listed}."
        )
    owner = owner_of(pod)
    causes = tuple(
        cause
        for cause in verdict.causes
        if any(_is_about(fault, owner, namespace, name) for fault in (cause.fault, *cause.follows))
    )
    state = state_of(pod)
    if state in {RUNNING, SUCCEEDED}:
        causes = ()
    pools = tuple(row for row in verdict.pools if any(cause.fault.nodes for cause in causes))
    said = "" if causes else f"{namespace}/{name}: {_state(pod, state)}"
    return replace(verdict, causes=causes, pools=pools, said=said, joining=())


def _is_about(fault: ClusterFault, owner: PodOwner, namespace: str, name: str) -> bool:
    if fault.owner is not None:
        return fault.owner == owner
    return fault.finding.at == ("pods", f"{namespace}/{name}")


def _state(pod: Object, state: str) -> str:
    node = at(pod, "spec", "nodeName")
    if state == RUNNING:
        return f"it runs on {node}."
    if state == SUCCEEDED:
        return "it has come to its end."
    reason, message = waiting_for(pod)
    if node:
        said = f"{reason}: {message}" if message else reason or "its containers start"
        return f"it has its share on {node} and does not run: {said}."
    scheduled = condition(pod, "PodScheduled")
    told = str(at(scheduled, "message") or "the scheduler has not said why")
    return f"it waits, for nothing that is wrong with GPUs: {told}"
