"""What a run says while it waits for nodes to go."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eks_gpushare_lab.observing.declared_pools import KARPENTER
from eks_gpushare_lab.observing.node_history import GOING
from eks_gpushare_lab.observing.observer import workload_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.session import Session

BLOCKED = {"DisruptionBlocked", "Unconsolidatable", "FailedDraining", "ScaleDownFailed"}
"""Reasons of events that tell why a node stays."""

_NEVER = "Never"
_SHOWN = 3
_LOOK_SECONDS = 1.0
_AGAIN_SECONDS = 15.0
_STALE_SECONDS = 5.0


class IdleProgress:
    """Says what is waited for when that changes, and now and then when it does not."""

    def __init__(self, session: Session, tell: Callable[[str], object]) -> None:
        """Say nothing yet.

        Args:
            session: the lab.
            tell: takes a line.
        """
        self._session, self._tell = session, tell
        self._begun = time.monotonic()
        self._looked = self._told = 0.0
        self._last = ""
        self._heard: dict[str, float] = {}
        words = session.scaling.autoscalers.words()
        self._since = words[-1].order if words else 0

    def look(self) -> None:
        """Look again, once a second at most."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        text = "; ".join(self._waits())
        if text and (text != self._last or now - self._told >= _AGAIN_SECONDS):
            self._last, self._told = text, now
            after = now - self._begun
            self._tell(f"{text} ({after:.0f} s)" if after >= 1 else text)

    def _waits(self) -> Iterator[str]:
        counts = self._session.scaling.nodes_now()
        for pool in self._session.scaling.scaled:
            now, least = counts[pool.name], pool.least
            if now > least:
                stay = f", {least} of which stay" if least else ""
                nodes = "node" if now == 1 else "nodes"
                why = "; ".join(self._why(pool))
                yield f"pool {pool.name} has {now} {nodes}{stay}: {why}"

    def _why(self, pool: DeclaredPool) -> Iterator[str]:
        running = pods_left(self._session, pool)
        if running:
            yield running
            return
        going = self._going(pool)
        if going:
            yield f"{going} being removed"
        else:
            yield self._what_comes(pool)
        yield from self._said(pool)

    def _said(self, pool: DeclaredPool) -> Iterator[str]:
        """What was said lately: an event stays when what it tells of has passed."""
        now = time.monotonic()
        for said in dict.fromkeys(words_of(self._session, pool, self._since)):
            if now - self._heard.setdefault(said, now) < _STALE_SECONDS:
                yield said

    def _going(self, pool: DeclaredPool) -> int:
        names = names_of(self._session, pool)
        return sum(
            any(taint["key"] in GOING for taint in node["spec"].get("taints") or ())
            for node in self._session.watches.nodes.all()
            if node["metadata"]["name"] in names
        )

    def _what_comes(self, pool: DeclaredPool) -> str:
        if pool.scaled_by != KARPENTER:
            return (
                "Cluster Autoscaler asks AWS once a minute what its groups have, "
                "and takes what it has seen empty for long enough"
            )
        after = next(
            (
                str((each["spec"].get("disruption") or {}).get("consolidateAfter"))
                for each in self._session.scaling.autoscalers.node_pools()
                if each["metadata"]["name"] == pool.called
            ),
            "",
        )
        if after == _NEVER:
            return "consolidateAfter is Never, so Karpenter takes none of them away"
        return (
            f"Karpenter looks every ten seconds for nodes that have been empty for {after}, "
            "and takes as many as the budgets allow"
        )


def names_of(session: Session, pool: DeclaredPool) -> set[str]:
    """Names of the nodes of a pool that are there."""
    return {record.name for record in session.scaling.history.of_pool(pool.name, alive=True)}


def pods_left(session: Session, pool: DeclaredPool) -> str:
    """Which pods still run on the nodes of a pool, in words; `""` for none."""
    names = names_of(session, pool)
    left = [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in session.watches.pods.all()
        if pod["spec"].get("nodeName") in names and workload_of(pod).kind != "DaemonSet"
    ]
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    return f"there run {', '.join(sorted(left)[:_SHOWN])}{more}" if left else ""


def words_of(session: Session, pool: DeclaredPool, since: int = 0) -> Iterator[str]:
    """What autoscalers say of why nodes of a pool stay.

    Args:
        session: the lab.
        pool: of which pool.
        since: only what is later than the word of that order.
    """
    names = names_of(session, pool)
    for word in session.scaling.autoscalers.words():
        if word.reason in BLOCKED and word.name in names and word.order > since:
            yield str(word)
