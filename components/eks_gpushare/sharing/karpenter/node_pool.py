"""The NodePool of a pool: which nodes Karpenter may launch for it, how many, and how they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.autoscaling import KarpenterPool
from eks_gpushare.sharing.karpenter.limits import limits_of
from eks_gpushare.sharing.karpenter.node_overlay import INSTANCE_TYPE
from eks_gpushare.sharing.plan import startup_taints
from eks_gpushare.sharing.scaling import static_nodes

if TYPE_CHECKING:
    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.autoscaling import DisruptionBudget
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.taints import Taint
    from eks_gpushare.sharing.plan import PoolPlan

NODE_POOLS = "karpenter.sh/v1"
"""API version of a NodePool."""
CAPACITY_TYPE = "karpenter.sh/capacity-type"
_CAPACITY_TYPES = {
    "onDemand": "on-demand",
    "spot": "spot",
    "reserved": "reserved",
    "capacityBlock": "reserved",  # told apart by the reservation itself
}
_DEFAULTS = KarpenterPool()
_ONE_IN_TEN = {"nodes": "10%"}


def settings_of(pool: Pool) -> KarpenterPool:
    """What the pool says of Karpenter, with defaults where it says nothing."""
    return pool.karpenter or _DEFAULTS


def capacity_types(pool: Pool) -> list[str]:
    """Ways to buy an instance, as Karpenter calls them."""
    return sorted({_CAPACITY_TYPES[option] for option in pool.bought_as})


def node_pool(plan: PoolPlan, catalog: Catalog) -> dict[str, Any]:
    """The NodePool of a pool, named like it.

    Args:
        plan: Plan of the pool.
        catalog: Where the types are looked up.
    """
    pool, settings = plan.pool, settings_of(plan.pool)
    spec: dict[str, Any] = {
        "template": {"metadata": {"labels": dict(plan.labels)}, "spec": _node(plan, catalog)},
        "disruption": {
            "consolidationPolicy": settings.consolidation_policy,
            "consolidateAfter": settings.consolidate_after,
            # Written out: an update that leaves a list away keeps the one that was there.
            "budgets": [*map(_budget, settings.budgets or ())] or [dict(_ONE_IN_TEN)],
        },
    }
    if limits := limits_of(plan):
        spec["limits"] = limits
    if pool.is_static:
        spec["replicas"] = static_nodes(pool)
    if settings.weight is not None:
        spec["weight"] = settings.weight
    return {
        "apiVersion": NODE_POOLS,
        "kind": "NodePool",
        "metadata": {"name": plan.name},
        "spec": spec,
    }


def _node(plan: PoolPlan, catalog: Catalog) -> dict[str, Any]:
    """What goes below `spec.template.spec`: the nodes themselves."""
    settings = settings_of(plan.pool)
    node: dict[str, Any] = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": plan.name},
        "requirements": _requirements(plan, catalog),
        "expireAfter": settings.expire_after,
    }
    if settings.termination_grace_period is not None:
        node["terminationGracePeriod"] = settings.termination_grace_period
    if plan.pool.taints:
        node["taints"] = [*map(_taint, plan.pool.taints)]
    if startup := startup_taints(plan.pool):
        node["startupTaints"] = [*map(_taint, startup)]
    return node


def _requirements(plan: PoolPlan, catalog: Catalog) -> list[dict[str, Any]]:
    pool = plan.pool
    types = [found for name in pool.instance_types if (found := catalog.find(name))]
    wanted = {
        INSTANCE_TYPE: sorted(pool.instance_types),
        "kubernetes.io/arch": sorted({found.arch for found in types}),
        "kubernetes.io/os": ["linux"],
        CAPACITY_TYPE: capacity_types(pool),
    }
    if pool.zones is not None:
        wanted["topology.kubernetes.io/zone"] = sorted(pool.zones)
    return [{"key": key, "operator": "In", "values": values} for key, values in wanted.items()]


def _taint(taint: Taint) -> dict[str, str]:
    value = {"value": taint.value} if taint.value else {}  # an empty one is refused
    return {"key": taint.key, **value, "effect": taint.effect}


def _budget(budget: DisruptionBudget) -> dict[str, Any]:
    made: dict[str, Any] = {"nodes": str(budget.nodes)}
    if budget.reasons is not None:
        made["reasons"] = list(budget.reasons)
    if budget.schedule is not None:
        made["schedule"] = budget.schedule
    if budget.duration is not None:
        made["duration"] = budget.duration
    return made
