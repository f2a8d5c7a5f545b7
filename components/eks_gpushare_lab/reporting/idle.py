"""What is left of a pool's nodes once its pods have gone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.sharing import warm_room
from eks_gpushare_lab import rules
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers.shorter_times import faster
from eks_gpushare_lab.controllers.shorter_waits import said_of, shorten
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.observing.workloads import (
    CRON_JOB,
    JOB,
    PAUSED,
    POD,
    SCALABLE,
    SCALED_OBJECTS,
)
from eks_gpushare_lab.reporting.idle_progress import IdleProgress, pods_left, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.live.pods import PodOwner
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.session import Session

LONGEST_SECONDS = 900.0
"""How long to wait for nodes to go: Cluster Autoscaler waits for ten minutes by default."""

_DELETED = {"Pod": POD, "Job": JOB, "CronJob": CRON_JOB}
"""Paths of what has no replicas, by kind."""
_NOT_FOUND = 404
_TICK = 0.05


@dataclass(frozen=True, slots=True)
class IdleHistory:
    """How the pools that an autoscaler scales became idle."""

    after: float | None
    """Seconds from when the workloads were scaled to nothing; None if it did not come."""
    nodes: Mapping[str, int]
    """Nodes that were left then, by GPU pool."""

    def as_json(self) -> dict[str, Any]:
        """The numbers as JSON data."""
        return {"afterSeconds": self.after, "nodes": dict(self.nodes)}


def until_idle(
    session: Session,
    longest: float = LONGEST_SECONDS,
    show: Callable[[], object] = lambda: None,
    tell: Callable[[str], object] = lambda _: None,
) -> tuple[IdleHistory, list[Finding]]:
    """Scale what runs on the pools to nothing, and wait until each has its fewest nodes.

    That is what was applied, and workloads of the stack; what keeps room free stays.

    Args:
        session: the lab.
        longest: when to give up, in seconds.
        show: called twenty times a second.
        tell: takes a line about what is waited for.

    Raises:
        LabError: If the environment says nothing sensible of how much faster times pass.
    """
    shortened = shorten(session.client, faster())
    progress = IdleProgress(session, tell)
    begun = time.monotonic()
    _drain(session)
    came = session.scaling.is_idle()
    while not came and time.monotonic() < begun + longest:
        show()
        session.scaling.look()
        progress.look()
        time.sleep(_TICK)
        came = session.scaling.is_idle()
    after = round(time.monotonic() - begun, 1) if came else None
    idle = IdleHistory(after, session.scaling.nodes_now())
    found = list(said_of(shortened))
    return idle, found if came else [*found, *_left(session, longest)]


def _drain(session: Session) -> None:
    """Scale what runs on the pools to nothing; what was applied without replicas is deleted."""
    for workload in _of_stack(session):
        _stop(session, workload)
    for workload in list(session.applied):
        at = (workload.namespace, workload.name)
        if workload.kind in SCALABLE:
            _stop(session, workload)
            session.applied[workload] = 0
        elif workload.kind in _DELETED:
            session.client.delete(_DELETED[workload.kind].format(*at))
            del session.applied[workload]
    session.touch()


def _of_stack(session: Session) -> list[PodOwner]:
    """Workloads of the stack that KEDA scales, or whose pods are of a pool that is to be idle."""
    pods = session.watches.pods.all()
    mine = (pod for pool in session.scaling.scaled for pod in session.scaling.pods_of(pool, pods))
    found = session.by_use.targets | {workload_of(pod) for pod in mine}
    return sorted(
        key
        for key in found - session.applied.keys()
        if key.kind in SCALABLE and key.namespace != warm_room.NAMESPACE
    )


def _stop(session: Session, workload: PodOwner) -> None:
    """Scale a workload to nothing, and have it stay there."""
    _pause(session, workload)
    path = SCALABLE[workload.kind].format(workload.namespace, workload.name)
    try:
        session.client.patch(f"{path}/scale", {"spec": {"replicas": 0}})
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise


def _pause(session: Session, workload: PodOwner) -> None:
    """Have KEDA keep a workload at nothing, if it scales it."""
    scaled = session.client.get(SCALED_OBJECTS.format(workload.namespace)) or {}
    for pod in scaled.get("items") or ():
        target = pod["spec"].get("scaleTargetRef") or {}
        if (target.get("kind", "Deployment"), target.get("name")) == workload[1:]:
            path = f"{SCALED_OBJECTS.format(workload.namespace)}/{pod['metadata']['name']}"
            session.client.patch(path, {"metadata": {"annotations": {PAUSED: "0"}}})


def _left(session: Session, longest: float) -> Iterator[Finding]:
    """Pools that have more nodes than they should, and what keeps these."""
    now = session.scaling.nodes_now()
    for pool in session.scaling.scaled:
        if now[pool.name] <= pool.least:
            continue
        why = "; ".join(_why(session, pool)) or "its autoscaler says nothing of them"
        message = (
            f"{now[pool.name]} nodes are left {longest:.0f} s after the workloads were scaled to "
            f"nothing, where {pool.least} should be: {why}."
        )
        fix = (
            "See what runs there and what keeps the nodes: consolidateAfter, a budget of nodes, "
            "scaleDownAfter, or a pod that may not be disrupted."
        )
        yield rules.NOT_IDLE.finding(("pools", pool.name, "nodes"), message, fix)


def _why(session: Session, pool: DeclaredPool) -> Iterator[str]:
    left = pods_left(session, pool)
    if left:
        yield left
    yield from dict.fromkeys(words_of(session, pool))
