"""What is broken between an autoscaler and the nodes of its pool: each names the pool and the fix.

The autoscaler acts on what it is told of a node that is not there yet. Where that is not what the
node advertises, it does one of few things, by which the mistake is known.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eks_gpushare.catalog.autoscaler_tags import ACCELERATOR_LABEL
from eks_gpushare.live.pods import condition
from eks_gpushare.sharing.resources import GPU
from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.autoscalers import (
    PATIENCE_SECONDS,
    is_true,
    of_node_pool,
)
from eks_gpushare_lab.observing.declared_pools import CLUSTER_AUTOSCALER, KARPENTER
from eks_gpushare_lab.observing.node_history import GPU_PREFIX, asks_for, waiting_for
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.observing.scaling import LOOP, RUNAWAY, wants_a_node_alone
from eks_gpushare_lab.reporting.autoscaler_words import why_not, words_about
from eks_gpushare_lab.reporting.limits import limit_reached
from eks_gpushare_lab.reporting.promises import promise_of, promises_differ

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.live.pods import PodOwner
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.observing.node_history import NodeRecord
    from eks_gpushare_lab.session import Session

_NAMES_SHOWN = 3
_CALLED = {KARPENTER: "Karpenter", CLUSTER_AUTOSCALER: "Cluster Autoscaler"}
_TOLD = {KARPENTER: "its NodeOverlay", CLUSTER_AUTOSCALER: "the tags of its node group"}
_FOLLOW_THE_PLAN = (
    "Let {told} and the device plugin both follow sharing in the stack file: remove what sets "
    "either of them by hand, such as values of the chart or a tag of the same name."
)


def agreement_findings(session: Session, met: Collection[PodOwner] = ()) -> Iterator[Finding]:
    """What is broken in each pool that an autoscaler scales.

    Args:
        session: the lab.
        met: workloads of which as many pods run as were expected, so that the others may wait.
    """
    for pool in session.scaling.scaled:
        yield from _never_initialised(session, pool)
        yield from _endless(session, pool)
        yield from promises_differ(session, pool, _fix(pool))
        yield from _half_empty(session, pool)
        yield from _waits(session, pool, met)


def expected_nodes(session: Session, expected: Mapping[str, int]) -> Iterator[Finding]:
    """Pools that have another number of nodes than was expected."""
    now = session.scaling.nodes_now()
    for name, number in expected.items():
        if name not in now:
            there = ", ".join(now) or "none"
            message = f"No GPU pool is called {name}; there are {there}."
            fix = "Name one of them."
            yield rules.NODES_NOT_AS_EXPECTED.finding(("pools", name), message, fix)
        elif now[name] != number:
            records = session.scaling.history.of_pool(name)
            launched = f"{len(records)} came in all, {now[name]} are there"
            message = f"{_nodes(number)} {_were(number)} expected: {launched}."
            fix = "See why in the report: what was launched, and what its autoscaler says."
            yield rules.NODES_NOT_AS_EXPECTED.finding(("pools", name, "nodes"), message, fix)


def _never_initialised(session: Session, pool: DeclaredPool) -> Iterator[Finding]:
    """NodeClaims that were launched and are not initialised, by what they wait for."""
    if pool.scaled_by != KARPENTER:
        return
    stuck: dict[str, list[Object]] = {}
    for claim in session.scaling.autoscalers.claims():
        mine = of_node_pool(claim, pool.called) and "deletionTimestamp" not in claim["metadata"]
        if mine and _has_stopped(session, claim):
            step = "Initialized" if is_true(claim, "Registered") else "Registered"
            said = condition(claim, step) or {}
            stuck.setdefault(str(said.get("message") or said.get("reason") or "?"), []).append(
                claim
            )
    for why, claims in stuck.items():
        advertised = sorted(
            {
                name
                for claim in claims
                if (record := session.scaling.history.record_of(_node_of(claim))) is not None
                for name in record.advertised
            }
        )
        names = _named([_node_of(claim) or claim["metadata"]["name"] for claim in claims])
        message = (
            f"never initialised: {names}: {why.rstrip('.')}. What is advertised is "
            f"{', '.join(advertised) or 'nothing of NVIDIA'}; Karpenter keeps such nodes, and they "
            "are billed."
        )
        yield rules.NEVER_INITIALISED.finding(_at(pool, "sharing"), message, _fix(pool))


def _has_stopped(session: Session, claim: Object) -> bool:
    """Whether a NodeClaim with an instance comes no further: by what it lacks, or by its age."""
    if not is_true(claim, "Launched") or is_true(claim, "Initialized"):
        return False
    if session.scaling.autoscalers.is_stuck(claim):
        return True
    provider_id = claim["status"].get("providerID", "")
    record = session.scaling.history.record_by_key(provider_id)
    return record is not None and time.monotonic() - record.launched > PATIENCE_SECONDS


def _endless(session: Session, pool: DeclaredPool) -> Iterator[Finding]:
    """What would go on for ever, so that the lab has stopped to wait."""
    why = session.scaling.endless.get(pool.name)
    records = session.scaling.history.of_pool(pool.name)
    if why == RUNAWAY:
        pods = session.scaling.pods_of(pool, session.watches.pods.all())
        needed = session.scaling.needed[pool.name]
        message = (
            f"runaway: {_nodes(len(records))} for {len(pods)} pods, a new one for each, where "
            f"{_nodes(needed)} would do. {_told(session, pool)} The lab has stopped to wait."
        )
        yield rules.RUNAWAY.finding(_at(pool, "sharing"), message, _fix(pool))
    if why == LOOP:
        missed = [record.name for record in records if record.missed]
        message = (
            f"launches and removes: {_named(missed)} went before any pod ran there, while pods "
            f"waited for their shares. {_told(session, pool)}"
        )
        fix = (
            "Let the nodes say at once that their GPUs are to come: with the label "
            "k8s.amazonaws.com/accelerator, or with a startup taint until they are there."
        )
        if pool.scaled_by == KARPENTER:
            fix = "See what takes the nodes away: consolidateAfter, a budget, or an interruption."
        yield rules.LAUNCHES_AND_REMOVES.finding(_at(pool), message, fix)


def _half_empty(session: Session, pool: DeclaredPool) -> Iterator[Finding]:
    """More nodes than the pods ever needed, with half of their shares unused."""
    scaling = session.scaling
    alive = [r for r in scaling.history.of_pool(pool.name, alive=True) if r.ready is not None]
    needed = max(scaling.needed[pool.name], pool.least)
    if pool.static or pool.name in scaling.endless or len(alive) <= needed:
        return
    pods = scaling.pods_of(pool, session.watches.pods.all())
    running = [pod for pod in pods if pod["spec"].get("nodeName")]
    shares = sum(sum(record.advertised.values()) for record in alive)
    if not running or 2 * len(running) > shares or any(map(wants_a_node_alone, pods)):
        return
    message = (
        f"{_nodes(len(alive))} with {shares} shares run {len(running)} pods; "
        f"{_nodes(needed)} would do. {_told(session, pool)}"
    )
    yield rules.HALF_EMPTY.finding(_at(pool, "sharing"), message, _fix(pool))


def _waits(session: Session, pool: DeclaredPool, met: Collection[PodOwner]) -> Iterator[Finding]:
    """Why pods wait for a pool: a limit, no node at all, or room that is not there."""
    pods = waiting_for(pool, session.watches.pods.all())
    waiting = [pod for pod in pods if workload_of(pod) not in met]
    if not waiting or pool.name in session.scaling.endless:
        return
    limit = limit_reached(session, pool, waiting)
    if limit is not None:
        at, message, fix = limit
        yield rules.LIMIT_REACHED.finding(at, message, fix)
        return
    records = session.scaling.history.of_pool(pool.name)
    autoscaler = _CALLED[pool.scaled_by]
    if not session.scaling.autoscalers.present:
        said = f"There is no {autoscaler} in the cluster"
        fix = "Add it to the stack file, or install one before the pods."
        message = f"No node was launched for {_pods(len(waiting))} that wait. {said}."
        # Somebody may install one that the stack does not know of.
        yield rules.NOT_LAUNCHED.finding(_at(pool), message, fix, "warning")
    elif not records and (mine := [p for p in waiting if not _others_serve(session, pool, p)]):
        said = "; ".join(why_not(session, pool)) or f"{autoscaler} says nothing of them"
        message = f"No node was launched for {_pods(len(mine))} that wait: {said}."
        yield rules.NOT_LAUNCHED.finding(_at(pool), message, _fix(pool))
    elif pool.scaled_by == CLUSTER_AUTOSCALER and not words_about(session, waiting):
        yield from _believes(session, pool, len(waiting))


def _believes(session: Session, pool: DeclaredPool, waiting: int) -> Iterator[Finding]:
    """Pods that Cluster Autoscaler says nothing of, for it has room in mind for them.

    It has so for a while whenever it has added nodes, so that alone is no finding.
    """
    records = session.scaling.history.of_pool(pool.name, alive=True)
    unstarted = [record.name for record in records if _never_starts(session, record)]
    adds = session.scaling.autoscalers.scale_up()
    at, fix = _at(pool, "sharing"), _fix(pool)
    if unstarted:
        why = (
            f"takes {_named(unstarted)} for nodes that are yet to start, and empty, by the label "
            f"{ACCELERATOR_LABEL}: what is advertised is not {GPU}."
        )
        at = _at(pool, "labels")
        fix = f"Take the label {ACCELERATOR_LABEL} from the pool, or share {GPU}: without rename."
    elif adds != "InProgress" and any(record.ready for record in records):
        why = f"adds no node ({adds or 'it says nothing'}). {_told(session, pool)}"
    else:
        return
    wait = "1 pod waits" if waiting == 1 else f"{waiting} pods wait"
    message = f"believes there is room: {wait}, and Cluster Autoscaler {why}"
    yield rules.BELIEVES_THERE_IS_ROOM.finding(at, message, fix)


def _never_starts(session: Session, record: NodeRecord) -> bool:
    """Whether a node that gives out shares lacks what Cluster Autoscaler waits for.

    Source: processors/customresources/gpu_processor.go of kubernetes/autoscaler, 1.33.0.
    """
    node = session.watches.nodes.get(record.name)
    labels = (node or {"metadata": {}})["metadata"].get("labels") or {}
    return bool(record.ready and ACCELERATOR_LABEL in labels and not record.advertised.get(GPU))


def _others_serve(session: Session, pool: DeclaredPool, pod: Object) -> bool:
    """Whether another pool that could run a pod has been given nodes."""
    wanted = (pod["spec"].get("nodeSelector") or {}).items()
    for other in session.scaling.scaled:
        records = session.scaling.history.of_pool(other.name)
        if other is pool or not records or not asks_for(other, pod):
            continue
        nodes = [session.watches.nodes.get(record.name) for record in records if not record.gone]
        labels = [node["metadata"].get("labels") or {} for node in nodes if node is not None]
        # Of nodes that have gone nothing is known.
        if not labels or any(wanted <= label.items() for label in labels):
            return True
    return False


def _told(session: Session, pool: DeclaredPool) -> str:
    """What the autoscaler is told of a node, and what one advertises."""
    promised = promise_of(session, pool)
    says = "; ".join(f"{kind}: {_counts(item)}" for kind, item in promised.items() if item)
    alive = session.scaling.history.of_pool(pool.name)
    ready = next((record for record in reversed(alive) if record.advertised), None)
    has = _counts(ready.advertised) if ready else "nothing of NVIDIA"
    return f"{_CALLED[pool.scaled_by]} is told of {says or 'no shares'}; a node advertises {has}."


def _counts(amounts: Mapping[str, int]) -> str:
    shown = [f"{n} {name}" for name, n in amounts.items() if name.startswith(GPU_PREFIX)]
    return ", ".join(shown) or "nothing of NVIDIA"


def _fix(pool: DeclaredPool) -> str:
    return _FOLLOW_THE_PLAN.format(told=_TOLD[pool.scaled_by])


def _at(pool: DeclaredPool, *below: str) -> FieldPath:
    return ("pools", pool.name, *below)


def _node_of(claim: Object) -> str:
    return str((claim.get("status") or {}).get("nodeName", ""))


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
