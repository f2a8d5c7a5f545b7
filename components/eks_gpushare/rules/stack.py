"""Rules about the stack as a whole: pools, charts, quotas, and what cannot be built yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog import bucket
from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.findings.finding import Code, finding
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import At, Finding
    from eks_gpushare.rules.context import Context

NO_POOL = Code(
    "GPU617",
    "error",
    "A stack has a pool.",
    "There would be a cluster, and nothing to share.",
    "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
)
NO_REGION = Code(
    "GPU618",
    "error",
    "A stack that makes something in AWS names its region.",
    "Pulumi would take the region of whoever runs it.",
    "https://www.pulumi.com/registry/packages/aws/installation-configuration/",
)
ANY_SUBNET = Code(
    "GPU619",
    "warning",
    "Nodes in an existing cluster are told their subnets.",
    "Without them the nodes go into any subnet of the cluster, public ones too.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html",
)
NOT_BUILT = Code(
    "GPU701",
    "warning",
    "Everything a stack asks for can be built by this version.",
    "The file is checked as far as it goes; building it is refused, so that nothing is half-built.",
    "https://github.com/NVIDIA/k8s-device-plugin",
)
FLOATING_CHART = Code(
    "GPU702",
    "error",
    "A chart version is exact.",
    "A range is resolved anew at every update, and the chart changes under the stack.",
    "https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/",
)
VCPU_DEMAND = Code(
    "GPU801",
    "info",
    "The account's vCPU quotas cover the pools at their largest.",
    "Launches fail with VcpuLimitExceeded; in new accounts the quotas for GPUs are 0.",
    "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html",
)
NO_PRICE = Code(
    "GPU802",
    "info",
    "The price of a pool is known.",
    "The cost per share is left open where it is not.",
    "https://aws.amazon.com/ec2/pricing/on-demand/",
)
CHART_SOURCE = Code(
    "GPU704",
    "error",
    "A chart comes from a repository or from disk.",
    "With both, the path wins and the repository is ignored.",
    "https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/",
)

CODES = (
    NO_POOL,
    NO_REGION,
    ANY_SUBNET,
    NOT_BUILT,
    FLOATING_CHART,
    CHART_SOURCE,
    VCPU_DEMAND,
    NO_PRICE,
)
_EXACT = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def pools(ctx: Context) -> Iterator[Finding]:
    """GPU617."""
    if not ctx.environment.pools:
        fix = "Add one under pools, with instanceTypes and sharing."
        yield finding(NO_POOL, ("pools",), "There is no pool.", fix)


def region(ctx: Context) -> Iterator[Finding]:
    """GPU618."""
    if ctx.region is None and ctx.in_aws:
        message = "The stack file does not say in which region."
        fix = "Add aws:region beside the environment; a program gives region as an argument."
        yield finding(NO_REGION, ("cluster",), message, fix)


def any_subnet(ctx: Context) -> Iterator[Finding]:
    """GPU619."""
    network = ctx.environment.network
    if ctx.named_cluster is None or isinstance(network, ExistingNetwork):
        return
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner == "managedNodeGroup" and pool.subnet_ids is None:
            yield finding(
                ANY_SUBNET,
                ("pools", name, "subnetIds"),
                "The nodes of this pool may go into every subnet of the cluster.",
                "Give subnetIds with the private ones, or network with privateSubnetIds for all "
                "pools.",
            )


def not_built(ctx: Context) -> Iterator[Finding]:
    """GPU701."""
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner == "karpenter":
            at: At = ("pools", name, "provisioner")
            yield _not_yet(at, "build Karpenter pools", "managedNodeGroup")


def _not_yet(at: At, what: str, instead: str) -> Finding:
    message = f"This version cannot {what} yet."
    return finding(NOT_BUILT, at, message, f"Use {instead} to build the stack with this version.")


def charts(ctx: Context) -> Iterator[Finding]:
    """GPU702, GPU704."""
    given = ctx.environment.charts
    for key, chart in (
        ("devicePlugin", given.device_plugin),
        ("gpuOperator", given.gpu_operator),
        ("karpenter", given.karpenter),
    ):
        at = ("charts", key)
        if chart.version is not None and not _EXACT.fullmatch(chart.version):
            yield finding(
                FLOATING_CHART,
                (*at, "version"),
                f'"{chart.version}" is not an exact version.',
                "Write all three parts, for example 0.20.0.",
            )
        if chart.path is not None and chart.repository is not None:
            message = "Both path and repository are given."
            yield finding(CHART_SOURCE, at, message, "Keep one of the two.")


def vcpu_demand(ctx: Context) -> Iterator[Finding]:
    """GPU801."""
    demand: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner == "existing":
            continue
        needs: dict[tuple[str, str], int] = {}
        for found, _ in ctx.gpu_types(pool):
            quota = bucket(found, pool.capacity_type)
            if quota is not None:
                key = (quota.code, quota.name)
                vcpus = found.vcpus * sizes(pool.nodes).max
                needs[key] = max(needs.get(key, 0), vcpus)
        for key, vcpus in needs.items():
            demand.setdefault(key, []).append((name, vcpus))
    for (code, title), parts in demand.items():
        total = sum(vcpus for _, vcpus in parts)
        listed = ", ".join(f"{name} {vcpus}" for name, vcpus in parts)
        yield finding(
            VCPU_DEMAND,
            ("pools",),
            f'At their largest the pools take {total} vCPUs of the quota "{title}" ({code}): '
            f"{listed}.",
            f"Compare with: aws service-quotas get-service-quota --service-code ec2 "
            f"--quota-code {code}.",
        )


def prices(ctx: Context) -> Iterator[Finding]:
    """GPU802."""
    if ctx.region is None:
        return
    for name, pool in ctx.environment.pools.items():
        at = ("pools", name)
        if pool.capacity_type in {"spot", "capacityBlock"}:
            message = f"The price of {pool.capacity_type} capacity is not in the catalog."
            fix = "Nothing to change; ask the EC2 console for today's price."
            yield finding(NO_PRICE, (*at, "capacityType"), message, fix)
            continue
        unknown = [t.name for t, _ in ctx.gpu_types(pool) if t.price(ctx.region) is None]
        if unknown:
            yield finding(
                NO_PRICE,
                (*at, "instanceTypes"),
                f"No price of {', '.join(unknown)} in {ctx.region} is known.",
                "Give it under catalog.instanceTypes as priceUsdPerHour to see the cost.",
            )
