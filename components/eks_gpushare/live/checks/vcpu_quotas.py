"""EC2's vCPU quotas of the account, against what the stack's pools and their nodes take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.quotas import bucket
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.facts.vcpus import VCPU_QUOTA, Demand, Group, demands
from eks_gpushare.inventory.capacity import way_named
from eks_gpushare.live.faults import ClusterFault, Link, pool_mark
from eks_gpushare.live.nodes import CAPACITY_LABELS
from eks_gpushare.sharing.scaling import most_by_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.sharing.plan import PoolPlan

Demands = tuple["Mapping[str, Demand[str]]", "Mapping[str, Demand[str]]"]
"""What pools take of quotas at their least, and at their largest."""


def quota_demands(stack: Stack | None) -> Demands:
    """What a stack's pools take of EC2's quotas, by code; nothing without a stack."""
    if stack is None or stack.environment is None:
        return {}, {}
    catalog, _ = catalog_of(stack.environment.catalog, stack.region)
    plans = [plan for plan in stack.plans.values() if plan.pool.provisioner != "existing"]
    least = demands(
        _group(plan, catalog, dict.fromkeys(plan.per_node, _least(plan))) for plan in plans
    )
    return least, demands(_group(plan, catalog, _most(plan)) for plan in plans)


def _group(plan: PoolPlan, catalog: Catalog, nodes: Mapping[str, int]) -> Group[str]:
    types = [found for name in nodes if (found := catalog.find(name)) is not None]
    return Group(plan.name, nodes, types, plan.pool.bought_as)


def _least(plan: PoolPlan) -> int:
    return plan.scaling.least if plan.scaling is not None else plan.sizes.min


def _most(plan: PoolPlan) -> dict[str, int]:
    """Most nodes if all are of one type, by that, and one where nothing limits them."""
    if plan.pool.provisioner == "karpenter":
        limited = most_by_type(plan.pool, plan.per_node)
        return {name: 1 if most is None else most for name, most in limited.items()}
    return dict.fromkeys(plan.per_node, plan.sizes.max)


def quota_faults(
    quotas: Mapping[str, float], of_stack: Demands, nodes: Sequence[LiveNode]
) -> Iterator[ClusterFault]:
    """Quotas that do not cover the pools.

    Args:
        quotas: What the account has, by code.
        of_stack: What the stack takes.
        nodes: The cluster's nodes with GPUs.
    """
    least, most = of_stack
    for code, has in quotas.items():
        demand = most.get(code)
        if demand is None or demand.vcpus <= has:
            continue
        always = least[code].vcpus if code in least else 0
        used = sum(of.vcpus for node in nodes if (of := node.type) and _quota_of(node, of) == code)
        listed = ", ".join(f"{name} {vcpus}" for name, vcpus in demand.parts)
        finding = VCPU_QUOTA.finding(
            ("pools",),
            f'At their largest the pools take {demand.vcpus} vCPUs of the quota "{demand.name}" '
            f"({code}): {listed}. The account has {has:.0f}, of which nodes that are there take "
            f"{used}.",
            "Ask for more: aws service-quotas request-service-quota-increase --service-code ec2 "
            f"--quota-code {code} --desired-value {demand.vcpus}.",
            "error" if always > has else "warning",
        )
        # It is why nodes are missing only of pools for which it is too small as they are.
        pools = frozenset(pool_mark(name) for name, _ in demand.parts)
        link, about = (Link.NODE, pools) if always > has else (Link.PODS, frozenset[str]())
        yield ClusterFault(finding, link, about, is_cause_only=True)


def _quota_of(node: LiveNode, of_type: InstanceType) -> str | None:
    """The code of the quota that a node counts on."""
    given = next((node.labels[key] for key in CAPACITY_LABELS if key in node.labels), "")
    found = bucket(of_type, way_named(given.replace("-", "_")))
    return found.code if found else None
