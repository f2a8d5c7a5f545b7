"""`verify --pod`: why one pod does not run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.checks.programs import waiting_for
from eks_gpushare.live.claims import names_claims
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import FAILED, RUNNING, SUCCEEDED, condition, owner_of, state_of
from eks_gpushare.live.rules import HELD_BY_NOTHING
from eks_gpushare.live.stuck_pods import is_uncreated, said_of, warnings_of

if TYPE_CHECKING:
    from eks_gpushare.live.faults import Cause, ClusterFault
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
    state, ends = state_of(pod), at(pod, "metadata", "deletionTimestamp") is not None
    if ends:
        causes = tuple(cause for cause in causes if _is_of_ending(cause))
    elif state in {RUNNING, SUCCEEDED}:
        causes = ()
    pools = tuple(row for row in verdict.pools if any(cause.fault.nodes for cause in causes))
    said = "" if causes else f"{namespace}/{name}: {_state(objects, pod, state)}"
    return replace(verdict, causes=causes, pools=pools, said=said, joining=())


def _is_about(fault: ClusterFault, owner: PodOwner, namespace: str, name: str) -> bool:
    if fault.owner is not None:
        return fault.owner == owner
    return fault.finding.at == ("pods", f"{namespace}/{name}")


def _is_of_ending(cause: Cause) -> bool:
    faults = (cause.fault, *cause.follows)
    return any(fault.finding.code == HELD_BY_NOTHING.id for fault in faults)


def _state(objects: ClusterObjects, pod: Object, state: str) -> str:
    node = at(pod, "spec", "nodeName")
    if at(pod, "metadata", "deletionTimestamp") is not None:
        kept_by = ", ".join(str(name) for name in items(at(pod, "metadata", "finalizers")))
        return f"it is about to go{f', and kept by its finalizer {kept_by}' if kept_by else ''}."
    if state == RUNNING:
        return f"it runs on {node}."
    if state == SUCCEEDED:
        return "it has come to its end."
    reason, message = waiting_for(pod)
    if state == FAILED:
        whole = (str(at(pod, "status", part) or "") for part in ("reason", "message"))
        said = ": ".join(filter(None, whole)) or ": ".join(filter(None, (reason, message)))
        said = said.rstrip(".")
        return f"it has failed{f', {said}' if said else ''}."
    if node:
        return f"it has its share on {node} and does not run: {_unready(objects, pod)}."
    scheduled = condition(pod, "PodScheduled")
    told = str(at(scheduled, "message") or "the scheduler has not said why")
    claims = names_claims(pod)  # of devices, which may be GPUs
    return f"it waits{'' if claims else ', for nothing that is wrong with GPUs'}: {told}"


def _unready(objects: ClusterObjects, pod: Object) -> str:
    """Why a pod that has its node is not ready."""
    reason, message = waiting_for(pod)
    if reason or is_uncreated(pod):
        said = message or said_of(warnings_of(objects), pod, objects.at)
        return ": ".join(filter(None, (reason, said))) or "its containers start"
    told = str(at(condition(pod, "Ready"), "message") or "")
    return f"its containers run and it is not ready{f', {told}' if told else ''}"
