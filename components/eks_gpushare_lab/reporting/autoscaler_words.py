"""Why there is no node, in the words of the autoscalers themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from eks_gpushare.live.pods import condition
from eks_gpushare_lab.observing.autoscalers import (
    NAMES,
    NOMINATED,
    TRIGGERED,
    of_node_pool,
)
from eks_gpushare_lab.observing.declared_pools import KARPENTER
from eks_gpushare_lab.observing.node_history import waiting_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.session import Session

_TROUBLE = {
    "InsufficientCapacityError",
    "NodeClassNotReady",
    "NoCompatibleInstanceTypes",
    "FailedConsistencyCheck",
    "FailedToScaleUpGroup",
    "ScaleUpTimedOut",
    "MaxNodesTotalReached",
    "ClusterUnhealthy",
}
"""Reasons of events that are about no pod and tell why there is no node."""
_STEPS = ("Launched", "Registered", "Initialized")


def words_about(session: Session, pods: Iterable[Object]) -> list[str]:
    """What autoscalers say last of pods that wait, each text once with the number of pods."""
    last = session.scaling.autoscalers.last_words()
    said: Counter[str] = Counter()
    for pod in pods:
        metadata = pod["metadata"]
        word = last.get((metadata["namespace"], metadata["name"]))
        if word is not None and word.reason not in {NOMINATED, TRIGGERED}:
            said[str(word)] += 1
    return [f"{_pods(count)}: {text}" for text, count in said.most_common()]


def why_not(session: Session, pool: DeclaredPool) -> list[str]:
    """Why a pool has no more nodes: of pods that wait for it, and of what it is made of."""
    waiting = waiting_for(pool, session.watches.pods.all())
    return list(dict.fromkeys([*words_about(session, waiting), *_of_the_pool(session, pool)]))


def _of_the_pool(session: Session, pool: DeclaredPool) -> Iterator[str]:
    if pool.scaled_by == KARPENTER:
        yield from _of_karpenter(session, pool)
    else:
        yield from _of_groups(session.scaling.autoscalers.status())
    for word in session.scaling.autoscalers.words():
        # A NodeClaim is called like its NodePool and five letters more; it may have gone since.
        mine = word.who != KARPENTER or pool.called in {word.name, word.name.rpartition("-")[0]}
        if word.reason in _TROUBLE and mine:
            yield str(word)


def _of_karpenter(session: Session, pool: DeclaredPool) -> Iterator[str]:
    """Conditions of the NodePool, its overlays and its NodeClaims that are not met."""
    seen = session.scaling.autoscalers
    for node_pool in seen.node_pools():
        if node_pool["metadata"]["name"] == pool.called:
            yield from _unmet("NodePool", node_pool, ("ValidationSucceeded", "NodeClassReady"))
    for overlay in seen.overlays():
        if overlay["metadata"]["name"].startswith(f"{pool.called}-"):
            yield from _unmet("NodeOverlay", overlay, ("ValidationSucceeded",))
    for claim in seen.claims():
        if of_node_pool(claim, pool.called) and "deletionTimestamp" not in claim["metadata"]:
            yield from list(_unmet("NodeClaim", claim, _STEPS))[:1]


def _unmet(kind: str, given: Object, conditions: Iterable[str]) -> Iterator[str]:
    for name in conditions:
        said = condition(given, name)
        if said is not None and said["status"] != "True":
            why = said.get("message") or said.get("reason", "")
            yield f"{NAMES[KARPENTER]}: {kind} {given['metadata']['name']} is not {name}: {why}"


def _of_groups(status: Mapping[str, Any]) -> Iterator[str]:
    """What Cluster Autoscaler publishes of groups that it adds no nodes to for now."""
    for group in status.get("nodeGroups") or ():
        scale_up = group.get("scaleUp") or {}
        if scale_up.get("status") == "Backoff":
            info = scale_up.get("backoffInfo") or {}
            why = info.get("errorMessage") or info.get("errorCode") or "a scale-up has failed"
            yield f"Cluster Autoscaler: {group.get('name', '')} is left alone for now: {why}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
