"""Which limit keeps an autoscaler from adding a node that pods wait for."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from eks_gpushare.live.node_pool_limits import reached_limit, room_of
from eks_gpushare_lab.observing.autoscalers import KARPENTER as KARPENTER_SAYS
from eks_gpushare_lab.observing.declared_pools import KARPENTER
from eks_gpushare_lab.reporting.promises import promise_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.session import Session

_FULL = ("max node group size reached", "max total nodes in cluster reached")
_NODES = "nodes"


def limit_reached(
    session: Session, pool: DeclaredPool, waiting: Iterable[Object]
) -> tuple[FieldPath, str, str] | None:
    """Where a limit stands that is reached, what of it, and how to raise it; None for none."""
    if pool.scaled_by == KARPENTER:
        return _of_node_pool(session, pool)
    last = session.scaling.autoscalers.last_words()
    for pod in waiting:
        word = last.get((pod["metadata"]["namespace"], pod["metadata"]["name"]))
        full = word is not None and any(text in word.text for text in _FULL)
        if full and word is not None and word.who != KARPENTER_SAYS:
            return _of_node_group(session, pool, word.text)
    return None


def _of_node_group(
    session: Session, pool: DeclaredPool, said: str
) -> tuple[FieldPath, str, str] | None:
    there = session.scaling.nodes_now()[pool.name]
    if pool.most is None or there < pool.most:
        return None
    message = f"max is {pool.most} and {there} are there; Cluster Autoscaler: {said.rstrip('.')}."
    return ("pools", pool.name, "nodes", "max"), message, f"Raise max above {pool.most}."


def _of_node_pool(session: Session, pool: DeclaredPool) -> tuple[FieldPath, str, str] | None:
    """The limit above which one more node of any of the pool's types would be."""
    given = session.scaling.autoscalers.node_pools()
    mine = next((each for each in given if each["metadata"]["name"] == pool.called), None)
    if mine is None or pool.static:
        return None
    told = promise_of(session, pool)
    rooms = {
        kind: {**room_of(kind, shares), **_decimals(told.get(kind, {}))}
        for kind, shares in pool.per_node.items()
    }
    reached = reached_limit(mine, rooms)
    if reached is None:
        return None
    kind, name, limit, has, one = reached
    nodes = session.scaling.nodes_now()[pool.name]
    message = (
        f"{name} is limited to {limit:f}: {nodes} nodes have {has:f}, and one more of "
        f"{kind} would make it {has + one:f}."
    )
    fix = f"Raise the limit to {has + one:f} or more: karpenter.limits, or nodes.max."
    return ("pools", pool.name, "karpenter", "limits", name), message, fix


def _decimals(counts: Mapping[str, int]) -> dict[str, Decimal]:
    return {name: Decimal(count) for name, count in counts.items()}
