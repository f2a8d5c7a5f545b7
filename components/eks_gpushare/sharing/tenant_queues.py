"""The queues of tenants: from their contracts to the blocks of `Kueue`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.environment import Chart
from eks_gpushare.config.queues import KueueSpec, QueuedTenant, QueuePool, TenantQuota
from eks_gpushare.sharing.capacity import most_pods
from eks_gpushare.sharing.tenants import kinds, memory_gib
from eks_gpushare.sharing.turns import turns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract


def queues(
    tenants: Mapping[str, Tenant],
    every: Sequence[PoolContract],
    plans: Mapping[str, PoolPlan],
    chart: Chart | None = None,
) -> KueueSpec | None:
    """What `Kueue` is given for tenants with `queue`; None without any.

    Args:
        tenants: Tenants that the rules have accepted.
        every: What they have of pools.
        plans: The plans of all pools.
        chart: What the stack changes about the chart.
    """
    queued = {name: tenant for name, tenant in tenants.items() if tenant.queue}
    if not queued:
        return None
    own = [contract for contract in every if contract.tenant in queued]
    by_pool = dict.fromkeys(contract.pool for contract in own)
    others = [contract for contract in every if contract.tenant not in queued]
    return KueueSpec.model_construct(
        pools={pool: _pool(plans[pool], others) for pool in by_pool},
        tenants={
            name: QueuedTenant.model_construct(
                namespaces=tenant.every_namespace,
                priority=tenant.priority,
                pools={
                    contract.pool: TenantQuota.model_construct(
                        guaranteed=dict(contract.guaranteed),
                        maximum=dict(contract.maximum),
                        maximum_gib=contract.maximum_gib,
                    )
                    for contract in own
                    if contract.tenant == name
                },
            )
            for name, tenant in queued.items()
        },
        chart=chart or Chart.model_construct(),
    )


def _pool(plan: PoolPlan, others: Sequence[PoolContract]) -> QueuePool:
    """A pool, less what tenants without a queue are sure of: of that nobody borrows.

    Where nothing limits the pool, tenants borrow of each other alone: what may come is no promise.
    """
    most = {name: most_pods(plan, name) for name in kinds(plan)}
    taken = {
        name: sum(c.guaranteed.get(name, 0) for c in others if c.pool == plan.name) for name in most
    }
    known = {name: count - taken[name] for name, count in most.items() if count is not None}
    divided = [name for name in most if turns_of(plan.pool, name) != "timeSlicing"]
    sizes = {name: memory_gib(plan, name) for name in divided}
    return QueuePool.model_construct(
        node_selector=dict(plan.node_selector),
        taints=plan.pool.taints,
        advertised=known if len(known) == len(most) else {},
        gib={name: size for name, size in sizes.items() if size is not None},
    )
