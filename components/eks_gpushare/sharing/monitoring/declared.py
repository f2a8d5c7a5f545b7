"""What is declared and nothing measures, as series that always have one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.capacity import most_nodes
from eks_gpushare.sharing.metrics import is_on_instance, is_split_by_use, measured_pool
from eks_gpushare.sharing.monitoring.promql import constant, label_value
from eks_gpushare.sharing.resources import MIG_PREFIX, replicas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.sharing.monitoring.promql import RecordingRule
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract


def declared_rules(
    plans: Mapping[str, PoolPlan],
    tenants: Mapping[str, Tenant],
    contracts: Iterable[PoolContract],
    split: str = "share",
) -> tuple[RecordingRule, ...]:
    """All of them, of pools and tenants.

    Args:
        plans: The plans of the pools by name.
        tenants: Tenants by name.
        contracts: What they have of pools.
        split: By what costs are split, as `observability.cost` says.
    """
    return tuple(
        rule
        for rules in (
            *(_of_pool(plan) for plan in plans.values()),
            *(_of_split(plan, split) for plan in plans.values()),
            _of_namespaces(tenants),
            _of_contracts(contracts),
        )
        for rule in rules
    )


def _of_pool(plan: PoolPlan) -> Iterator[RecordingRule]:
    pool = plan.name
    for kind, shares in plan.shares.items():
        for share in shares:
            labels = {"pool": pool, "instance_type": kind, "resource": label_value(share.resource)}
            yield constant("gpushare:shares_per_node", share.per_node, **labels)
            price = plan.cost.per_node.get(kind) if plan.cost else None
            if price is not None:  # not rounded: all shares of a node cost what it costs
                yield constant("gpushare:share_usd_per_hour", price * share.of_node, **labels)
    for kind, price in (plan.cost.per_node if plan.cost else {}).items():
        yield constant("gpushare:node_usd_per_hour", price, pool=pool, instance_type=kind)
    for kind, count in _instances(plan).items():
        labels = {"pool": pool, "instance_type": kind}
        yield constant("gpushare:mig_instances_per_node", count, **labels)
    yield constant("gpushare:pods_per_device", replicas(plan.pool), pool=pool)
    if (most := most_nodes(plan)) is not None:
        yield constant("gpushare:nodes_max", most, pool=pool)
    yield from _of_exporter(plan)


def _of_split(plan: PoolPlan, split: str) -> Iterator[RecordingRule]:
    """In which pools costs are split by use, and what part of a node each device of several is."""
    if not is_split_by_use(plan, split):
        return
    yield constant("gpushare:split_by_use", 1, pool=plan.name, by=split)
    for kind, shares in plan.shares.items():
        # Devices of one kind are alike: what part of a node each is changes no proportion.
        for share in shares if split == "activity" and len(shares) > 1 else ():
            labels = {"pool": plan.name, "instance_type": kind}
            if is_on_instance(plan.pool, share.resource):
                labels["GPU_I_PROFILE"] = mig_profile(share.base_resource)
            part = share.of_node * replicas(plan.pool)
            yield constant("gpushare:device_of_node", part, **labels)


def mig_profile(resource: str) -> str:
    """A MIG profile as NVML and the exporter write it, from its resource: `1g.5gb+me`."""
    size, *more = resource.removeprefix(MIG_PREFIX).split("gb.", 1)
    return "gb+".join([size, *more])


def _instances(plan: PoolPlan) -> dict[str, int]:
    """MIG instances of a node, by its type; nothing where the exporter measures none."""
    if all(share.compute == "nothing" for share in measured_pool(plan)):
        return {}
    found = {
        kind: sum(
            share.per_node // replicas(plan.pool)
            for share in shares
            if is_on_instance(plan.pool, share.resource)
        )
        for kind, shares in plan.shares.items()
    }
    return {kind: count for kind, count in found.items() if count}


def _of_exporter(plan: PoolPlan) -> Iterator[RecordingRule]:
    """Of whom its numbers are, for whatever joins them with pods."""
    told: set[tuple[str, str, str]] = set()
    for share in measured_pool(plan):
        of = "instance" if is_on_instance(plan.pool, share.resource) else "gpu"
        told |= {(of, "compute", share.compute), (of, "memory", share.memory)}
    for of, quantity, by in sorted(told):
        if by != "nothing":
            labels = {"pool": plan.name, "of": of, "quantity": quantity, "by": by}
            yield constant("gpushare:measured", 1, **labels)


def _of_namespaces(tenants: Mapping[str, Tenant]) -> Iterator[RecordingRule]:
    for name, tenant in tenants.items():
        center = {"cost_center": tenant.cost.center} if tenant.cost else {}
        for namespace in tenant.namespaces:
            labels = {"namespace": namespace, "tenant": name, **center}
            yield constant("gpushare:namespace_tenant", 1, **labels)


def _of_contracts(contracts: Iterable[PoolContract]) -> Iterator[RecordingRule]:
    for contract in contracts:
        for suffix, counts in (
            ("guaranteed", contract.guaranteed),
            ("maximum", contract.maximum),
        ):
            for resource, count in counts.items():
                labels = {"tenant": contract.tenant, "pool": contract.pool}
                labels["resource"] = label_value(resource)
                yield constant(f"gpushare:tenant_{suffix}", count, **labels)
