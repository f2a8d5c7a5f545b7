"""How far an autoscaler takes a pool: its fewest and most nodes, with their shares and price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from eks_gpushare.documents.quantities import quantity
from eks_gpushare.sharing.autoscaling import promised

if TYPE_CHECKING:
    from eks_gpushare.catalog import Catalog
    from eks_gpushare.sharing.plan import PoolPlan

Autoscaler: TypeAlias = Literal["karpenter", "clusterAutoscaler"]

_MIB = 1024.0**2
_SEEN_BY_KARPENTER = 0.925
"""Part of an instance's memory that Karpenter counts: VM_MEMORY_OVERHEAD_PERCENT is 0.075
(https://karpenter.sh/docs/reference/settings/, read in November 2026)."""


@dataclass(frozen=True, slots=True)
class ScalingRange:
    """From how many nodes to how many an autoscaler takes a pool."""

    by: Autoscaler
    """Who adds and removes the nodes."""
    static: bool
    """Whether their number stays, whatever pods need."""
    least: int
    """Nodes that stay when no pod wants any."""
    most: int | None
    """Nodes at most; None where the stack file limits them by nothing that nodes have."""


def scaled_by(plan: PoolPlan) -> Autoscaler | None:
    """Who adds and removes nodes of a pool; None where it is the stack, or somebody else."""
    if plan.pool.provisioner == "karpenter":
        return "karpenter"
    if plan.pool.provisioner == "managedNodeGroup" and plan.pool.scaled_by == "autoscaler":
        return "clusterAutoscaler"
    return None


def scaling_range(plan: PoolPlan, catalog: Catalog) -> ScalingRange | None:
    """The range of a pool that an autoscaler scales; None for others."""
    by = scaled_by(plan)
    if by is None:
        return None
    if by == "clusterAutoscaler":
        least = min(max(plan.sizes.min, _warm(plan)), plan.sizes.max)
        return ScalingRange(by, static=False, least=least, most=plan.sizes.max)
    if plan.pool.is_static:
        return ScalingRange(by, static=True, least=plan.sizes.desired, most=plan.sizes.desired)
    most = _most_within_limits(plan, catalog)
    # Karpenter knows no minimum: nodes stay for pods alone, those of the warm room among them.
    least = _warm(plan) if most is None else min(_warm(plan), most)
    return ScalingRange(by, static=False, least=least, most=most)


def range_json(found: ScalingRange, plan: PoolPlan) -> dict[str, Any]:
    """The range with its shares and its price, as `preview --json` shows it."""
    return {
        "by": found.by,
        "static": found.static,
        "min": _at(found.least, plan),
        "max": None if found.most is None else _at(found.most, plan),
    }


def _at(nodes: int, plan: PoolPlan) -> dict[str, Any]:
    price = None if plan.cost is None else round(nodes * plan.cost.per_node, 4)
    return {"nodes": nodes, "shares": plan.at(nodes), "usdPerHour": price}


def _warm(plan: PoolPlan) -> int:
    """Nodes that the warm room keeps: those it names, or what its shares need."""
    warm = plan.pool.warm
    if warm is None:
        return 0
    (resource,) = plan.request
    on_a_node = max((node.get(resource, 0) for node in plan.per_node.values()), default=0)
    for_shares = -(-(warm.shares or 0) // on_a_node) if on_a_node else 0
    return max(warm.nodes or 0, for_shares)


def _most_within_limits(plan: PoolPlan, catalog: Catalog) -> int | None:
    """Nodes that fit under a NodePool's limits, of the type of which most do; None without any.

    Karpenter launches no node with which the sum of any limited resource would be above its limit;
    a resource that nodes do not have limits nothing.
    """
    from eks_gpushare.sharing.karpenter.limits import limits_of

    limits, counts = limits_of(plan), []
    for name in plan.pool.instance_types:
        has = {**_machine(name, catalog), **promised(plan, name)}
        fits = [
            int(float(amount) // has[resource])
            for resource, given in limits.items()
            if has.get(resource) and (amount := quantity(given)) is not None
        ]
        if not fits:
            return None
        counts.append(min(fits))
    return max(counts, default=None)


def _machine(name: str, catalog: Catalog) -> dict[str, float]:
    """CPU cores and bytes of memory, as Karpenter counts them before a node is there."""
    found = catalog.find(name)
    if found is None:
        return {}
    return {"cpu": found.vcpus, "memory": found.memory_mib * _MIB * _SEEN_BY_KARPENTER}
