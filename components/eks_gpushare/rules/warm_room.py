"""Rules about room that is kept free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.capacity import most_nodes, most_pods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.autoscaling import WarmRoom
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_OVERPROVISIONING = (
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md"
    "#how-can-i-configure-overprovisioning-with-cluster-autoscaler"
)

WARM_POOL = Rule(
    "GPU840",
    "error",
    "Room is kept free on pools that an autoscaler scales.",
    "Elsewhere no node comes for the placeholders: they take the shares of others, or wait for "
    "ever.",
    _OVERPROVISIONING,
)
TOO_WARM = Rule(
    "GPU841",
    "error",
    "A pool may have as many nodes as its warm room needs.",
    "Some placeholders wait for ever, and less is free than asked for.",
    _OVERPROVISIONING,
)
NOTHING_WARM = Rule(
    "GPU842",
    "error",
    "Warm room is of some shares or nodes.",
    "A block with neither keeps nothing free.",
    _OVERPROVISIONING,
)


@check(Scope.POOL, WARM_POOL, NOTHING_WARM, TOO_WARM)
def warm_room(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    warm = pool.warm
    if warm is None:
        return
    at = ("pools", name, "warm")
    if warm.shares is None and warm.nodes is None:
        message = "Neither shares nor nodes are given."
        yield NOTHING_WARM.finding(at, message, "Give one of them, or remove the block.")
    if fault := _unscaled(pool):
        yield WARM_POOL.finding(at, *fault)
    else:
        yield from _too_warm(ctx, name, pool, warm)


def _unscaled(pool: Pool) -> tuple[str, str] | None:
    """Why no autoscaler scales a pool, and what to do; None if one does."""
    if pool.provisioner == "existing":
        return (
            "The nodes of this pool are made elsewhere.",
            "Keep room free where they are made, or remove the block.",
        )
    if pool.provisioner == "karpenter":
        if pool.karpenter is None or not pool.karpenter.static:
            return None
        return (
            "The pool is static: it has nodes.desired nodes whether pods wait or not.",
            "Set nodes.desired to what you want to have, and remove the block; or remove static.",
        )
    if pool.scaled_by == "autoscaler":
        return None
    return (
        "The stack decides the size of this pool, and no autoscaler.",
        "Set nodes.min to what you want to have and remove the block, or scaledBy: autoscaler.",
    )


def _too_warm(ctx: Context, name: str, pool: Pool, warm: WarmRoom) -> Iterator[Finding]:
    plan = planned(ctx, name, pool)
    if plan is None:
        return
    nodes, shares = most_nodes(plan), most_pods(plan, next(iter(plan.request)))
    for key, wanted, held in (("nodes", warm.nodes, nodes), ("shares", warm.shares, shares)):
        if wanted is None or held is None or wanted <= held:
            continue
        message = f"{wanted} {key} are to be kept, and the pool has {held} at most."
        fix = f"Keep {held} at most, or raise nodes.max."
        yield TOO_WARM.finding(("pools", name, "warm", key), message, fix)
