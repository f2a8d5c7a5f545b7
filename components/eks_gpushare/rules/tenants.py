"""Rules about tenants: that their contracts can be held, and keep apart who is to be apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.arns import principal_fault
from eks_gpushare.config.cluster import ClusterByKubeconfig, ExistingCluster
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.chart_effects import HARMFUL_VALUE
from eks_gpushare.rules.kueue import undone
from eks_gpushare.rules.names import own_namespace_fault, subdomain_fault, value_fault
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.capacity import most_pods
from eks_gpushare.sharing.kueue import pool_shares
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import (
    UNITS,
    AmountError,
    borrowed,
    contracts,
    counted,
    gib_of,
    owners,
    sure_nodes,
)
from eks_gpushare.sharing.workloads import asked_share, most_replicas, place_of_most, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.tenants import Tenant, TenantAmount, TenantPool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context
    from eks_gpushare.sharing.plan import PoolPlan

_QUOTA = "https://kubernetes.io/docs/concepts/policy/resource-quotas/"

AMOUNT = Rule(
    "GPU870",
    "error",
    "What a tenant has of a pool is an amount that the pool's shares make.",
    "Quotas count whole shares of one name; a part of one is nobody's.",
    _QUOTA,
)
TOO_MUCH = Rule(
    "GPU872",
    "error",
    "What tenants are sure of fits into the pool when it has all its nodes.",
    "Each quota has room left, and the last tenant's pods wait for ever.",
    _QUOTA,
)
PROMISED = Rule(
    "GPU873",
    "warning",
    "What tenants are sure of fits into the nodes that are always there.",
    "The rest comes once an autoscaler has started nodes for it, if EC2 has any.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html",
)
ONE_NAME = Rule(
    "GPU874",
    "error",
    "A tenant's shares of two pools have names of their own.",
    "A quota counts a name over all pools: what is meant for one may be taken in the other.",
    _QUOTA,
)
NAMESPACE = Rule(
    "GPU875",
    "error",
    "Each tenant has a namespace that is nobody else's.",
    "A quota is of one namespace: another tenant, or a part of the system, would be under it, and "
    "a second namespace would have the whole contract once more.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
)
ADMIN = Rule(
    "GPU876",
    "error",
    "Admins of a tenant are IAM roles or users that EKS lets into this tenant alone.",
    "EKS has one access entry for each of them: who is an admin of the cluster is one of every "
    "tenant, and where no EKS cluster is, nobody reads access entries.",
    "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
)
IN_CONTRACT = rule_of(
    "GPU877", not_alone="Workloads and tenants that stand alone know nothing of each other."
)
MAXIMUM = Rule(
    "GPU878",
    "error",
    "A tenant that may have more than it is sure of has a queue, and a pool that has so much.",
    "A quota lends nothing: without a queue, what one tenant leaves is for nobody.",
    "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#borrowinglimit",
)


def _tenants(ctx: Context) -> Mapping[str, Tenant]:
    return ctx.environment.tenants or {}


@check(Scope.TENANTS, AMOUNT)
def amounts(ctx: Context) -> Iterator[Finding]:
    known = ", ".join(ctx.environment.pools)
    for name, tenant in _tenants(ctx).items():
        # A label's value, and the name of a ConfigMap and of a ClusterQueue.
        if fault := value_fault(name) or subdomain_fault(name):
            yield AMOUNT.finding(("tenants", name), fault, "Use another name for the tenant.")
        if not tenant.pools:
            yield AMOUNT.finding(
                ("tenants", name, "pools"),
                f"{name} has nothing of any pool.",
                f"Name one or more of the pools: {known}.",
            )
        for pool, given in tenant.pools.items():
            at: FieldPath = ("tenants", name, "pools", pool)
            if pool not in ctx.environment.pools:
                fix = f"Use one of the pools: {known}."
                yield AMOUNT.finding(at, f"There is no pool {pool}.", fix)
                continue
            yield from _amount(ctx, (*at, "guaranteed"), pool, given.guaranteed)


def _amount(ctx: Context, at: FieldPath, pool: str, given: TenantAmount) -> Iterator[Finding]:
    units = [key for field, key in UNITS.items() if getattr(given, field) is not None]
    if len(units) != 1:
        said = f"{' and '.join(units)} are" if units else "None of the units is"
        fix = f"Give one of {', '.join(UNITS.values())}."
        yield AMOUNT.finding(at, f"{said} given, and one says how much it is.", fix)
        return
    plan = planned(ctx, pool, ctx.environment.pools[pool])
    try:
        if plan is not None:
            counted(given, plan)
    except AmountError as error:
        yield AMOUNT.finding((*at, error.key), error.message, error.fix)


def sure_of(ctx: Context) -> dict[str, tuple[PoolPlan, dict[str, Mapping[str, int]]]]:
    """What each tenant is sure of, by pool; what cannot be counted is another rule's.

    Args:
        ctx: Of the stack.
    """
    found: dict[str, tuple[PoolPlan, dict[str, Mapping[str, int]]]] = {}
    for pool, declared in ctx.environment.pools.items():
        plan = planned(ctx, pool, declared)
        if plan is None:
            continue
        has = {
            name: counts
            for name, tenant in _tenants(ctx).items()
            if pool in tenant.pools
            and (counts := countable(tenant.pools[pool].guaranteed, plan)) is not None
        }
        found[pool] = (plan, has)
    return found


def countable(given: TenantAmount, plan: PoolPlan) -> Mapping[str, int] | None:
    """An amount in shares; None where another rule says what is wrong with it.

    Args:
        given: The amount.
        plan: Of its pool.
    """
    if sum(getattr(given, field) is not None for field in UNITS) != 1:
        return None
    try:
        return counted(given, plan).counts
    except AmountError:
        return None


@check(Scope.TENANTS, AMOUNT, MAXIMUM)
def maxima(ctx: Context) -> Iterator[Finding]:
    for pool, (plan, has) in sure_of(ctx).items():
        for name, sure in has.items():
            tenant = _tenants(ctx)[name]
            given, at = tenant.pools[pool], ("tenants", name, "pools", pool, "maximum")
            if given.maximum is None:
                continue
            if countable(given.maximum, plan) is None:
                yield from _amount(ctx, at, pool, given.maximum)
                continue
            yield from _maximum(at, plan, sure, given, has_queue=tenant.queue)


def _maximum(
    at: FieldPath,
    plan: PoolPlan,
    sure: Mapping[str, int],
    given: TenantPool,
    *,
    has_queue: bool,
) -> Iterator[Finding]:
    most, gib = borrowed(given, plan, sure)
    if not has_queue:
        message = "It may borrow, and a quota lends nothing."
        yield MAXIMUM.finding(at, message, "Set queue: true for the tenant, or remove the key.")
        return
    memory = gib_of(sure, plan)
    below = [name for name, count in sure.items() if most.get(name, 0) < count]
    if below or (gib is not None and gib < memory):
        said = f"{memory} GiB" if not below else f"{sure[below[0]]} of {below[0]}"
        rounded = counted(given.guaranteed, plan).rounded
        message = f"It is less than the {said} that are guaranteed"
        message += f", in whole shares: {rounded}." if rounded else "."
        yield MAXIMUM.finding(at, message, "Raise it, or remove it: it is then what is guaranteed.")
    there = {name: most_pods(plan, name) for name in most}
    known = {name: count for name, count in there.items() if count is not None}
    if gib is not None and len(known) == len(there) and gib > (has := gib_of(known, plan)):
        message = f"It is {gib} GiB, and the pool has {has} at most."
        yield MAXIMUM.finding(at, message, f"Lower it to {has}, or give the pool more nodes.")
    for name, count in most.items():
        held = there[name]
        if gib is None and held is not None and count > held:
            message = f"It is {count} of {name}, and the pool has {held} at most."
            yield MAXIMUM.finding(at, message, f"Lower it to {held}, or give the pool more nodes.")


@check(Scope.TENANTS, HARMFUL_VALUE)
def values_of_kueue(ctx: Context) -> Iterator[Finding]:
    chart = ctx.environment.charts.kueue
    if chart is None:
        return
    plans = {pool: plan for pool, (plan, _) in sure_of(ctx).items()}
    try:
        spec = queues(_tenants(ctx), contracts(_tenants(ctx), plans), plans, chart)
    except (AmountError, KeyError):  # which other rules say
        return
    if spec is not None:
        shares = pool_shares(spec.pools, spec.tenants)
        yield from undone(("charts", "kueue", "values"), chart.values, shares)


@check(Scope.TENANTS, TOO_MUCH, PROMISED)
def fits(ctx: Context) -> Iterator[Finding]:
    for pool, (plan, has) in sure_of(ctx).items():
        sums: dict[str, int] = {}
        for counts in has.values():
            for resource, count in counts.items():
                sums[resource] = sums.get(resource, 0) + count
        sure = plan.at(sure_nodes(plan))
        for resource, total in sums.items():
            most, at = most_pods(plan, resource), ("pools", pool, "nodes")
            listed = ", ".join(name for name, counts in has.items() if counts.get(resource))
            said = f"{listed} {'are' if ',' in listed else 'is'} sure of {total} of {resource}"
            if most is not None and total > most and not ctx.nodes_elsewhere:
                message = f"{said}, and the pool has {most} at most."
                fix = "Give the pool more nodes, or the tenants less."
                yield TOO_MUCH.finding(at, message, fix)
            elif total > sure[resource] and not ctx.nodes_elsewhere:
                yield PROMISED.finding(
                    at,
                    f"{said}, and {sure[resource]} are there before a node is started.",
                    f"Keep more nodes by {_kept_by(plan)}, or tell the tenants that the rest takes "
                    "a node's start.",
                )


def _kept_by(plan: PoolPlan) -> str:
    """The key of a pool by which nodes are there whatever pods want."""
    scaling = plan.scaling
    if scaling is None:
        return "nodes.desired"
    return "warm.nodes" if scaling.by == "karpenter" else "nodes.min"


@check(Scope.TENANTS, ONE_NAME)
def names_apart(ctx: Context) -> Iterator[Finding]:
    sure = sure_of(ctx)
    for name, tenant in _tenants(ctx).items():
        first: dict[str, str] = {}
        for pool in tenant.pools:
            most = _most_of(ctx, name, pool, sure) if pool in sure else {}
            both: dict[str, list[str]] = {}
            for resource in (resource for resource, count in most.items() if count):
                if (other := first.setdefault(resource, pool)) != pool:
                    both.setdefault(other, []).append(resource)
            for other, resources in both.items():
                lent = any({*resources} - {*sure[each][1][name]} for each in (other, pool))
                yield ONE_NAME.finding(
                    ("tenants", name, "pools", pool),
                    f"{other} and {pool} both have {', '.join(resources)}.",
                    "Say a maximum in sharesOf, which leaves them out: in GiB it is of any mix."
                    if lent
                    else "Give the shares of one of them another name (rename in one of both, "
                    "where pods take turns), or make two tenants.",
                )


@check(Scope.TENANTS, NAMESPACE)
def namespaces(ctx: Context) -> Iterator[Finding]:
    whose: dict[str, str] = {}
    for name, tenant in _tenants(ctx).items():
        at: FieldPath = ("tenants", name, "namespaces")
        count = len(tenant.every_namespace)
        if count != 1 and not (tenant.queue and count):
            yield NAMESPACE.finding(
                at,
                f"{name} has {count} namespaces, and its contract is the quota of one.",
                "Name one namespace; for more set queue: true, or make another tenant.",
            )
        listed = [("namespaces", i, called) for i, called in enumerate(tenant.namespaces)]
        others = enumerate(tenant.existing_namespaces)
        listed += [("existingNamespaces", i, called) for i, called in others]
        here: set[str] = set()
        for key, index, called in listed:
            other = whose.setdefault(called, name)
            fault = own_namespace_fault(called, "a tenant", f"{name}-gpu")
            if fault is None and other != name:
                fault = f"{called} is a namespace of {other}.", f"Use another, such as {name}-gpu."
            if fault is None and called in here:
                fault = f"{called} is named twice.", "Remove one of them."
            here.add(called)
            if fault is not None:
                yield NAMESPACE.finding(("tenants", name, key, index), *fault)


@check(Scope.TENANTS, ADMIN)
def admins(ctx: Context) -> Iterator[Finding]:
    for name, tenant in _tenants(ctx).items():
        for index, arn in enumerate(tenant.admins):
            fault = principal_fault(arn)
            if fault is not None:
                fix = "Write it like arn:aws:iam::111122223333:role/TeamA."
                yield ADMIN.finding(("tenants", name, "admins", index), f'"{arn}" {fault}.', fix)


@check(Scope.TENANTS, ADMIN)
def admins_of_cluster(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.environment.cluster
    by_file = isinstance(cluster, ExistingCluster) and isinstance(
        cluster.existing, ClusterByKubeconfig
    )
    everywhere = set[str]()
    if ctx.new_cluster is not None:
        everywhere = {*ctx.new_cluster.admins, *(ctx.new_cluster.named_admins or {}).values()}
    for name, tenant in _tenants(ctx).items():
        for index, arn in enumerate(tenant.admins):
            at: FieldPath = ("tenants", name, "admins", index)
            if by_file:
                yield ADMIN.finding(
                    at,
                    "The cluster is known by a kubeconfig, and access entries are EKS's.",
                    "Remove it, and bind the group by a RoleBinding of your own.",
                )
            elif arn in everywhere:
                yield ADMIN.finding(
                    at,
                    f"{arn} is an admin of the whole cluster.",
                    "Name it there or here.",
                )


@check(Scope.TENANTS, IN_CONTRACT)
def workloads(ctx: Context) -> Iterator[Finding]:
    whose = owners(_tenants(ctx))
    sure = sure_of(ctx)
    asked: dict[tuple[str, str], dict[str, int]] = {}
    for called, workload in (ctx.environment.workloads or {}).items():
        tenant = whose.get(workload.namespace)
        pools = [pool for pool in pools_of(workload) if pool in sure]
        if tenant is None or not pools:
            continue
        resource = asked_share(workload, sure[pools[0]][0])
        has = max(_most_of(ctx, tenant, pool, sure).get(resource, 0) for pool in pools)
        own = asked.setdefault((tenant, resource), {})
        own[called] = most_replicas(workload) * workload.shares
        if sum(own.values()) > has:
            listed = f"{', '.join(own)} may ask for {sum(own.values())} of {resource}"
            yield IN_CONTRACT.finding(
                ("workloads", called, *place_of_most(workload)),
                f"{listed}, and {tenant}, whose namespace {workload.namespace} is, has {has} on "
                f"{', '.join(pools)}.",
                "Let them have fewer pods, or give the tenant more.",
            )


def _most_of(
    ctx: Context,
    tenant: str,
    pool: str,
    sure: Mapping[str, tuple[PoolPlan, Mapping[str, Mapping[str, int]]]],
) -> Mapping[str, int]:
    plan, has = sure[pool]
    if tenant not in has:
        return {}
    try:
        return borrowed(_tenants(ctx)[tenant].pools[pool], plan, has[tenant])[0]
    except AmountError:  # which another rule says
        return has[tenant]
