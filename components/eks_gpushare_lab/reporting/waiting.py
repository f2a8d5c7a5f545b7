"""Why pods of a workload do not run: the scheduler's words, and what they leave out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eks_gpushare.live.placement import allocatable, mismatches, untolerated
from eks_gpushare.live.pods import (
    PENDING,
    REFUSED,
    condition,
    requested,
    requested_by_node,
    state_of,
)
from eks_gpushare.live.refusals import refusal_said
from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.observing.obstacles import before_a_node
from eks_gpushare_lab.observing.queues import in_queue, waits_in_queue
from eks_gpushare_lab.observing.scheduling import obstacles_to, other_words
from eks_gpushare_lab.observing.workloads import JOBS, SCALABLE, outcomes
from eks_gpushare_lab.reporting.autoscaler_words import words_about
from eks_gpushare_lab.simulated_node.mps_server import CLIENT, WAITS, annotation, sets_no_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.live.pods import PodOwner
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.obstacles import Obstacle
    from eks_gpushare_lab.session import Session

_PREFIX = "nvidia.com/"
_MOST_NAMES = 4
_BUILT_IN = {"cpu", "memory", "pods", "ephemeral-storage"}


def reasons_of(session: Session, workload: PodOwner) -> list[str]:
    """Why pods of a workload wait or fail, each reason once, the scheduler's words first."""
    return _reasons(session, workload, _pods_held(session, workload))


def why_short(session: Session, workload: PodOwner) -> tuple[list[str], str]:
    """Why a workload does not run whole, in a few clauses, and what to do about it."""
    pods = _pods_held(session, workload)
    if workload.kind == "DaemonSet" and not pods:
        reasons = _misses(session, workload)
    else:
        reasons = _reasons(session, workload, pods)
    shown = [_without_preemption(reason) for reason in reasons]
    found = [obstacle.fix for _, obstacles in pods for obstacle in obstacles]
    return shown, (found or ["See why its pods wait; with --expect NAME=N fewer will do."])[0]


def _pods_held(session: Session, workload: PodOwner) -> list[tuple[Object, list[Obstacle]]]:
    """The pods of a workload, each with what keeps it from running that no node would help.

    To find out asks the API server, so it is done once for each.
    """
    return [(pod, _obstacles(session, pod)) for pod in _pods_of(session, workload)]


def _obstacles(session: Session, pod: Object) -> list[Obstacle]:
    if pod["status"].get("phase") not in {None, "Pending", "Running"}:
        return []
    before = list(before_a_node(pod, session.client.get, session.watches.nodes.get))
    queued = in_queue(pod, session.client.get)
    if queued is not None:  # in place of the gate, which says nothing
        return [queued, *before[1:]]
    return before or session.obstacles_on_node(pod)


def _pods_of(session: Session, workload: PodOwner) -> list[Object]:
    return [pod for pod in session.watches.pods.all() if workload_of(pod) == workload]


def _reasons(
    session: Session, workload: PodOwner, pods: Sequence[tuple[Object, Sequence[Obstacle]]]
) -> list[str]:
    held = Counter(obstacle.what for _, obstacles in pods for obstacle in obstacles)
    pending = [(pod, obstacles) for pod, obstacles in pods if state_of(pod) == PENDING]
    said: Counter[str] = Counter()
    lab: dict[str, None] = {}
    for pod, _ in pending:
        scheduled = condition(pod, "PodScheduled") or {}
        if waits_in_queue(pod):
            continue  # of which the scheduler knows the gate alone
        if "message" in scheduled or not held:
            said[scheduled.get("message", "the scheduler has said nothing yet")] += 1
    if pending and not pending[0][1]:
        lab = dict.fromkeys(_explained(session, pending[0][0]))
    waits = Counter(why for pod, _ in pods if (why := annotation(pod, WAITS)))
    failed = Counter(
        f"{pod['status']['reason']}: {pod['status'].get('message', '')}"
        for pod, _ in pods
        if pod["status"].get("phase") == "Failed" and pod["status"].get("reason")
    )
    refused = dict.fromkeys(_ended(event["message"]) for event in session.refused(workload))
    return [
        *(f"{_pods(count)}: {text}" for text, count in said.most_common()),
        *lab,
        *words_about(session, [pod for pod, _ in pending]),
        *(f"{_pods(count)}: {text}" for text, count in held.most_common()),
        *(f"{_pods(count)}: {text}" for text, count in waits.most_common()),
        *(f"{_pods(count)} failed: {text}" for text, count in failed.most_common()),
        *(f"not created: {text}" for text in refused),
        *_of_the_whole(session, workload, is_there=bool(pods)),
    ]


def _of_the_whole(session: Session, workload: PodOwner, *, is_there: bool) -> Iterator[str]:
    """What is not about a pod that is there."""
    at = {"namespace": workload.namespace, "name": workload.name}
    if workload.kind == "Deployment":
        there = session.client.get(SCALABLE["Deployment"].format(*at.values()))
        if there and there["spec"].get("paused"):
            yield "the Deployment is paused, so nobody makes its pods"
    if workload.kind == "Pod" and not is_there and workload in session.applied:
        gone = session.client.get(
            f"/api/v1/namespaces/{workload.namespace}/events?fieldSelector="
            f"reason%3DPreempted%2CinvolvedObject.name%3D{workload.name}"
        )
        said = [event.get("message", "") for event in (gone or {}).get("items") or ()]
        evicted = f"evicted for a pod of higher priority ({said[-1]})" if said else "deleted"
        yield f"the pod was {evicted}, and nobody makes another"
    if workload.kind in JOBS:
        failed = outcomes(session.job_of(workload) or {}).get("Failed")
        if failed:
            yield f"the Job has failed: {failed.get('message') or failed.get('reason', '')}"


def _misses(session: Session, workload: PodOwner) -> list[str]:
    """Why a DaemonSet without pods reaches no node."""
    there = session.watches.daemon_sets.get(workload.name, workload.namespace)
    if there is None:
        return []
    spec = there["spec"]["template"]["spec"]
    found: dict[str, str] = {}
    for node in sorted(
        session.watches.nodes.all(), key=lambda candidate: candidate["metadata"]["name"]
    ):
        why = [f"it does not tolerate {taint}" for taint in untolerated(spec, node)]
        why += mismatches(spec, node)
        found.setdefault("; ".join(why), node["metadata"]["name"])
    return [f"{name}: {why}" for why, name in found.items() if why]


def _without_preemption(reason: str) -> str:
    """The scheduler's words without those about pods that it might evict."""
    return reason.partition(" no new claims to deallocate")[0].partition(" preemption: ")[0]


def waiting_findings(session: Session, workload: PodOwner) -> Iterator[Finding]:
    """What of a workload's waiting will not end by itself."""
    at = ("workloads", str(workload))
    pods = _pods_of(session, workload)
    yield from uncreated_findings(session, workload, at)
    refused = [pod for pod in pods if pod["status"].get("reason") == REFUSED]
    if refused:
        message = f"The kubelet refuses its pods: {refused[0]['status'].get('message', '')}."
        fix = (
            "Ask for one share: more give no more of the GPU. Or failRequestsGreaterThanOne: false."
        )
        yield rules.NOT_ADMITTED.finding(at, message, fix)
    yield from _of_another_user(session, pods, at)
    sample = next((pod for pod in pods if state_of(pod) == PENDING), None)
    if sample is not None:
        yield from _hopeless(session, sample, at)


def _of_another_user(
    session: Session, pods: Sequence[Object], at: tuple[str, str]
) -> Iterator[Finding]:
    """Pods that the MPS server of their node does not serve, by node and reason."""
    waiting: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        why = annotation(pod, WAITS)
        if why:
            waiting.setdefault((pod["spec"]["nodeName"], why), []).append(pod)
    for (node, why), found in sorted(waiting.items()):
        clients = [
            pod
            for pod in session.watches.pods.all()
            if pod["spec"].get("nodeName") == node and annotation(pod, CLIENT)
        ]
        served = f" Served: {_names(clients)}." if clients else ""
        guessed = any(map(sets_no_user, (*found, *clients)))
        unset = " Where no runAsUser is set, the image decides; root is assumed." if guessed else ""
        yield rules.MPS_OTHER_USER.finding(
            at,
            f"On {node}, {_names(found)} cannot use the GPU: {why}.{served}{unset}",
            "Give all pods of the pool the same securityContext.runAsUser, or make a pool for each "
            "user.",
        )


def _names(pods: Sequence[Object]) -> str:
    names = sorted(pod["metadata"]["name"] for pod in pods)
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def uncreated_findings(
    session: Session, workload: PodOwner, at: tuple[str, str]
) -> Iterator[Finding]:
    """Why the API server refuses the pods of a workload or DaemonSet."""
    for message in dict.fromkeys(_ended(e["message"]) for e in session.refused(workload)):
        fix = "Follow the message: a quota, a Pod Security level or a webhook refuses the pods."
        yield rules.NOT_CREATED.finding(at, f"Pods are not created: {message}.", fix)


def _hopeless(session: Session, pod: Object, at: tuple[str, str]) -> Iterator[Finding]:
    nodes = session.watches.nodes.all()
    there = {name for node in nodes for name, count in allocatable(node).items() if count}
    for name in requested(pod["spec"]):
        if name in there or name in _BUILT_IN:
            continue
        some = ", ".join(sorted(resource for resource in there if resource.startswith(_PREFIX)))
        message = f"It asks for {name}, which no node advertises; " + (
            f"of NVIDIA's there is {some}." if some else "nothing of NVIDIA's is advertised at all."
        )
        fix = "Declare a pool that shares its GPUs under that name."
        if some:
            fix = "Ask for one of those, or declare a pool that shares its GPUs under that name."
        yield rules.NOT_ADVERTISED.finding(at, message, fix)
    wanted = [name for name in requested(pod["spec"]) if name.startswith(_PREFIX)]
    with_it = [n for n in nodes if wanted and all(allocatable(n).get(w) for w in wanted)]
    taints = [untolerated(pod["spec"], node) for node in with_it]
    if taints and all(taints):
        every = ", ".join(dict.fromkeys(taint for each in taints for taint in each))
        message = (
            f"It does not tolerate {every}, and no node with {wanted[0]} is without. EKS adds a "
            f"toleration for the taint {wanted[0]} alone."
        )
        yield rules.NOT_TOLERATED.finding(at, message, f"Add a toleration for {every}.")


def _explained(session: Session, pod: Object) -> Iterator[str]:
    """For each kind of node, what keeps the pod off it."""
    used = requested_by_node(session.watches.pods.all())
    others = [f"the scheduler says: {word}" for word in other_words(pod)]
    pools = {node.name: node.pool for node in session.nodes}
    grouped: dict[tuple[str, str], list[str]] = {}
    for node in sorted(
        session.watches.nodes.all(), key=lambda candidate: candidate["metadata"]["name"]
    ):
        name = node["metadata"]["name"]
        why = obstacles_to(pod["spec"], node, used)
        text = "; ".join(why or others) or "it would fit now"
        grouped.setdefault((pools.get(name, name), text), []).append(name)
    for (pool, text), names in grouped.items():
        where = names[0] if len(names) == 1 else f"{len(names)} nodes of {pool}"
        yield f"{where}: {text}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _ended(message: str) -> str:
    """An event without the name of the pod, which differs from one to the next."""
    text = refusal_said(message)
    words = text.split('"')
    if text.startswith("pods ") and len(words) > 2:  # noqa: PLR2004  (before, name, after)
        text = "pods" + '"'.join(words[2:])
    return text
