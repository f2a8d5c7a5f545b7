"""What an autoscaler is told of a node that is not there yet, against what nodes advertise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.matching import meets_requirements
from eks_gpushare.inventory.source import Unknown
from eks_gpushare.live.amounts import quantity
from eks_gpushare.live.pods import condition
from eks_gpushare_lab import rules
from eks_gpushare_lab.observing.declared_pools import KARPENTER, NODE_POOL
from eks_gpushare_lab.observing.node_history import GPU_PREFIX, INSTANCE_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.session import Session


def promise_of(session: Session, pool: DeclaredPool) -> dict[str, dict[str, int]]:
    """By instance type, the GPU resources that an autoscaler is told of; empty where of none."""
    if pool.scaled_by != KARPENTER:
        told = {k: n for k, n in pool.promised.items() if k.startswith(GPU_PREFIX)}
        return dict.fromkeys(pool.per_node, told)
    # Of two that say something of the same with equal weight Karpenter drops one, and says so.
    overlays = [
        overlay for overlay in session.scaling.autoscalers.overlays() if not _is_dropped(overlay)
    ]
    overlays.sort(key=lambda overlay: int(overlay["spec"].get("weight") or 0))
    found: dict[str, dict[str, int]] = {kind: {} for kind in pool.per_node}
    for overlay in overlays:
        for kind, told in found.items():
            if _applies(overlay, {NODE_POOL: pool.called, INSTANCE_TYPE: kind}):
                given = overlay["spec"].get("capacity") or {}
                gpus = {k: int(quantity(n)) for k, n in given.items() if k.startswith(GPU_PREFIX)}
                told.update(gpus)
    return found


def promises_differ(session: Session, pool: DeclaredPool, fix: str) -> Iterator[Finding]:
    """Instance types of which an autoscaler is told something else than their nodes advertise.

    Of a type of which no node has come, what the pool declares is taken for what it would have.
    """
    records = [r for r in session.scaling.history.of_pool(pool.name) if r.advertised]
    for kind, told in promise_of(session, pool).items():
        mine = [r.advertised for r in records if r.instance_type == kind]
        declared = {k: n for k, n in pool.per_node[kind].items() if k.startswith(GPU_PREFIX)}
        has, verb = (mine[-1], "advertises") if mine else (declared, "is to advertise")
        if not told and not _is_a_surprise(has):
            continue
        wrong = [
            f"{name}: {told.get(name, 0)} promised, {has.get(name, 0)} {_is(verb)}"
            for name in sorted({*told, *has})
            if told.get(name, 0) != has.get(name, 0)
        ]
        if wrong:
            what = "a NodeOverlay" if pool.scaled_by == KARPENTER else "a tag of its node group"
            none = "" if told else f" There is no {what.partition(' ')[2]} for it."
            message = f"A node of {kind} {verb} other than {what} says: {'; '.join(wrong)}.{none}"
            at = ("pools", pool.name, "sharing")
            yield rules.PROMISE_DIFFERS.finding(at, message, fix)


def _is(verb: str) -> str:
    return "advertised" if verb == "advertises" else "declared"


def _is_a_surprise(advertised: Mapping[str, int]) -> bool:
    """Whether nodes have more than the GPUs that EC2 tells of: then they have to be announced."""
    return set(advertised) != {f"{GPU_PREFIX}gpu"} or max(advertised.values(), default=0) > 1


def _is_dropped(overlay: Object) -> bool:
    said = condition(overlay, "Ready")
    return said is not None and said["status"] == "False"


def _applies(overlay: Object, labels: Mapping[str, str]) -> bool:
    """Whether an overlay is for instances with these labels; keys beside them are left open."""
    given = overlay["spec"].get("requirements")
    return meets_requirements(given, lambda key: labels.get(key, Unknown.UNKNOWN)) is not False
