"""Rules about the stack as a whole: pools, quotas and prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.facts.vcpus import VCPU_QUOTA, Group, demands
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

NO_POOL = Rule(
    "GPU617",
    "error",
    "A stack has a pool.",
    "There would be a cluster, and nothing to share.",
    "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
)
NO_REGION = Rule(
    "GPU618",
    "error",
    "A stack that makes something in AWS names its region.",
    "Pulumi would take the region of the person who runs it.",
    "https://www.pulumi.com/registry/packages/aws/installation-configuration/",
)
ANY_SUBNET = Rule(
    "GPU619",
    "warning",
    "Nodes in an existing cluster are told their subnets.",
    "Without them the nodes go into every subnet of the cluster that has no route to an internet "
    "gateway, and another one that somebody adds replaces the pool.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html",
)
NO_PRICE = Rule(
    "GPU802",
    "info",
    "The price of a pool is known.",
    "The cost per share is left open where it is not.",
    "https://aws.amazon.com/ec2/pricing/on-demand/",
)


@check(Scope.ENVIRONMENT, NO_POOL)
def pools(ctx: Context) -> Iterator[Finding]:
    if not ctx.environment.pools:
        fix = "Add one under pools, with instanceTypes and sharing."
        yield NO_POOL.finding(("pools",), "There is no pool.", fix)


@check(Scope.ENVIRONMENT, NO_REGION)
def region(ctx: Context) -> Iterator[Finding]:
    if ctx.region is None and ctx.in_aws:
        message = "The stack file does not say in which region."
        fix = "Add aws:region beside the environment; a program gives region as an argument."
        yield NO_REGION.finding(("cluster",), message, fix)


@check(Scope.ENVIRONMENT, ANY_SUBNET)
def any_subnet(ctx: Context) -> Iterator[Finding]:
    network = ctx.environment.network
    if ctx.named_cluster is None or isinstance(network, ExistingNetwork):
        return
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner != "existing" and pool.subnet_ids is None:
            yield ANY_SUBNET.finding(
                ("pools", name, "subnetIds"),
                "The nodes of this pool go into every private subnet that the cluster has.",
                "Give subnetIds, or network with privateSubnetIds for all pools.",
            )


@check(Scope.ENVIRONMENT, VCPU_QUOTA)
def vcpu_demand(ctx: Context) -> Iterator[Finding]:
    for code, demand in demands(_groups(ctx)).items():
        listed = ", ".join(f"{name} {vcpus}" for name, vcpus in demand.parts)
        yield VCPU_QUOTA.finding(
            ("pools",),
            f'At their largest the pools take {demand.vcpus} vCPUs of the quota "{demand.name}" '
            f"({code}): {listed}.",
            f"Compare with: aws service-quotas get-service-quota --service-code ec2 "
            f"--quota-code {code}.",
        )


def _groups(ctx: Context) -> Iterator[Group[str]]:
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner != "existing":
            types = [found for found, _ in ctx.gpu_types(pool)]
            nodes = {found.name: _most_nodes(ctx, name, pool, found.name) for found in types}
            yield Group(name, nodes, types, pool.bought_as)


def _most_nodes(ctx: Context, name: str, pool: Pool, instance_type: str) -> int:
    """Most nodes of a type, and one where nothing limits them."""
    if pool.provisioner != "karpenter":
        return sizes(pool.nodes).max
    from eks_gpushare.rules.planned import planned
    from eks_gpushare.sharing.scaling import most_by_type

    plan = planned(ctx, name, pool)
    return (plan and most_by_type(pool, plan.per_node)[instance_type]) or 1


@check(Scope.ENVIRONMENT, NO_PRICE)
def prices(ctx: Context) -> Iterator[Finding]:
    if ctx.region is None:
        return
    for name, pool in ctx.environment.pools.items():
        at = ("pools", name)
        ways = pool.bought_as
        unknown = [t.name for t, _ in ctx.gpu_types(pool) if t.price(ctx.region, ways) is None]
        if unknown and not {"onDemand", "reserved"} & {*ways}:
            message = f"The price of {' and '.join(ways)} capacity is not in the catalog."
            fix = "Nothing to change; ask the EC2 console for today's price."
            if "spot" in ways:
                fix = "To see the cost give spotUsdPerHour under catalog.instanceTypes."
            yield NO_PRICE.finding((*at, "capacityType"), message, fix)
        elif unknown:
            yield NO_PRICE.finding(
                (*at, "instanceTypes"),
                f"No price of {', '.join(unknown)} in {ctx.region} is known.",
                "Give it under catalog.instanceTypes as priceUsdPerHour to see the cost.",
            )
