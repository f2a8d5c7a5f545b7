"""Whether workloads in a tenant's namespace ask for what the tenant has: `lint --against STACK`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import PART_OF_POD, Quota, Workload
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.manifests.rules.against import OVER_CONTRACT, QUOTA_OF_OTHERS
from eks_gpushare.sharing.tenant_objects import QUOTA, SYSTEM_PRIORITY, hard
from eks_gpushare.sharing.tenants import contracts, of_tenant, owners
from eks_gpushare.sharing.workloads import asked_share, most_replicas, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.config.workloads import Workload as StackWorkload
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.sharing.plan import PoolPlan

_REQUESTS = "requests."


class _Asked(NamedTuple):
    """What a workload asks for of a resource, with all its pods."""

    called: str
    shares: int
    workload: Workload | None
    """None of one that the stack itself makes."""


def judge_contracts(files: Inventory, stack: Stack) -> Iterator[Judgement]:
    """Workloads that ask for more than their namespace's quota will allow.

    Args:
        files: What the files say.
        stack: What they are held against.
    """
    environment = stack.environment
    if environment is None:
        return
    tenants = environment.tenants or {}
    whose = owners(tenants)
    asked = _of_stack(environment.workloads or {}, stack.plans, whose)
    for workload in files.of(Workload):
        space = workload.namespace
        if space is UNKNOWN or space not in whose or workload.kind == PART_OF_POD:
            continue
        devices = demand_of(workload.spec).of_devices()
        if not devices or workload.replicas is None:
            continue
        if workload.replicas is UNKNOWN:
            what = f"how many pods {workload.source.name} has, and so whether its tenant may"
            yield NotSeen(OVER_CONTRACT, workload.source, what)
            continue
        for resource, count in devices.items():
            given = _Asked(workload.source.name, count * workload.replicas, workload)
            asked.setdefault((whose[space], resource), []).append(given)
    yield from _over(asked, tenants, stack)
    yield from _quotas(files, tenants, stack)


def _of_stack(
    given: Mapping[str, StackWorkload], plans: Mapping[str, PoolPlan], whose: Mapping[str, str]
) -> dict[tuple[str, str], list[_Asked]]:
    """What the stack's own workloads ask for at most, by tenant and resource."""
    asked: dict[tuple[str, str], list[_Asked]] = {}
    for name, workload in given.items():
        if workload.namespace in whose:
            first = plans[pools_of(workload)[0]]
            resource = asked_share(workload, first)
            count = most_replicas(workload) * workload.shares
            own = _Asked(f"the stack's own workload {name}", count, None)
            asked.setdefault((whose[workload.namespace], resource), []).append(own)
    return asked


def _over(
    asked: Mapping[tuple[str, str], list[_Asked]], tenants: Mapping[str, Tenant], stack: Stack
) -> Iterator[Problem]:
    every = contracts(tenants, stack.plans)
    for (tenant, resource), listed in asked.items():
        has, total = of_tenant(tenant, every).get(resource, 0), sum(each.shares for each in listed)
        of_files = [(each.shares, each.workload) for each in listed if each.workload is not None]
        if total <= has or not of_files:
            continue
        _, workload = max(of_files, key=lambda counted: counted[0])
        each_one = ", ".join(f"{each.called} {each.shares}" for each in listed)
        # Pods of a Job are made again and again until the quota takes them.
        by_turns = workload.kind in {"Job", "CronJob"} and has > 0
        yield Problem(
            OVER_CONTRACT,
            workload.source,
            ("spec", "parallelism" if by_turns else "replicas"),
            f"{total} of {resource} are asked for in the namespace of {tenant} ({each_one}), which "
            f"may have {has}.",
            f"Run fewer pods, or give {tenant} more of it in the stack file.",
            severity="warning" if by_turns else None,
        )


def _quotas(files: Inventory, tenants: Mapping[str, Tenant], stack: Stack) -> Iterator[Problem]:
    """Quotas of others in namespaces that a tenant has, which are there before the stack's."""
    whose, every = owners(tenants), contracts(tenants, stack.plans)
    for quota in files.of(Quota):
        tenant = None if quota.namespace is UNKNOWN else whose.get(quota.namespace)
        if tenant is None or quota.kind != "ResourceQuota":
            continue
        called = f"{at_start(quota.source.name)} in the namespace of {tenant}"
        if quota.name in (QUOTA, SYSTEM_PRIORITY):
            made = hard(tenant, tenants[tenant], every, stack.plans) | {"pods": "0"}
            own = {(name.removeprefix(_REQUESTS), count) for name, count in made.items()}
            # A dump of a cluster has the stack's own.
            if any((name, text(given)) not in own for name, given in pairs(quota.hard)):
                message = f"{called} has the name of one that the stack makes there."
                fix = "Delete it, or give it another name, before the stack is deployed."
                yield Problem(QUOTA_OF_OTHERS, quota.source, ("metadata", "name"), message, fix)
            continue
        for name, given in pairs(quota.hard):
            most = None if given is UNKNOWN else quantity(str(text(given)))
            of_pools = (each.guaranteed.get(name, 0) for each in every if each.tenant == tenant)
            if most is not None and most < (least := sum(of_pools)):
                yield Problem(
                    QUOTA_OF_OTHERS,
                    quota.source,
                    ("spec", "hard", f"{_REQUESTS}{name}"),
                    f"{called} allows {text(given)} of {name}, and {tenant} is sure of {least}.",
                    "Remove it: the stack makes one of the contract, and of two the least counts.",
                )
