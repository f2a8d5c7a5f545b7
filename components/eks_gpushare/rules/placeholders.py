"""Rules about values that documentation shows and that belong to nobody."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from eks_gpushare.catalog.cidrs import DOCUMENTATION, CidrError, read_cidr
from eks_gpushare.catalog.resource_ids import is_placeholder
from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

PLACEHOLDER = Rule(
    "GPU434",
    "warning",
    "An ID is one of the account and none of a manual.",
    "AWS does not know the IDs that documentation shows, and says so when the rest is there.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html",
)
NETWORK_OF_MANUALS = Rule(
    "GPU435",
    "info",
    "publicCidrs are networks of those who work on the cluster.",
    "Networks of documentation belong to nobody: until they are replaced, nobody reaches the API "
    "server from outside, and `pulumi up` cannot install the charts.",
    "https://datatracker.ietf.org/doc/html/rfc5737",
)


@check(Scope.ENVIRONMENT, PLACEHOLDER)
def network(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.network
    if not isinstance(given, ExistingNetwork):
        return
    yield from _of(("network", "vpcId"), given.vpc_id)
    for key, subnets in (
        ("privateSubnetIds", given.private_subnet_ids),
        ("publicSubnetIds", given.public_subnet_ids),
    ):
        for index, subnet in enumerate(subnets):
            yield from _of(("network", key, index), subnet)


@check(Scope.POOL, PLACEHOLDER)
def pool_ids(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For the IDs of a pool."""
    if pool.reservation is not None:
        yield from _of(("pools", name, "reservation", "id"), pool.reservation.id)
    if pool.custom_ami is not None:
        yield from _of(("pools", name, "customAmi", "id"), pool.custom_ami.id)
    for index, subnet in enumerate(pool.subnet_ids or ()):
        yield from _of(("pools", name, "subnetIds", index), subnet)


def _of(at: FieldPath, given: str) -> Iterator[Finding]:
    if is_placeholder(given):
        message = f"{given} is an ID of documentation, which no account has."
        yield PLACEHOLDER.finding(at, message, "Replace it with one of your account.")


@check(Scope.CLUSTER, NETWORK_OF_MANUALS)
def example_networks(ctx: Context) -> Iterator[Finding]:
    """For networks that may use the public endpoint."""
    cluster = ctx.new_cluster
    if cluster is None or not cluster.endpoint.public:
        return
    given = cluster.endpoint.public_cidrs
    examples = [cidr for cidr in given if _is_example(cidr)]
    if examples and len(examples) == len(given):
        message = f"{', '.join(examples)} is for documentation and belongs to nobody."
        fix = "Replace it with the public address of your network before the first pulumi up."
        at = ("cluster", "endpoint", "publicCidrs")
        yield NETWORK_OF_MANUALS.finding(at, message, fix)


def _is_example(text: str) -> bool:
    try:
        network = read_cidr(text)
    except CidrError:
        return False
    known = (ip_network(block) for block in DOCUMENTATION)
    return any(each.version == network.version and each.supernet_of(network) for each in known)  # type: ignore[arg-type]
