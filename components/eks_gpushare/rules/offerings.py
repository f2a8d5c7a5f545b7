"""Rules about zones by their IDs: which EKS takes, and which have an instance type.

Names such as us-west-2a mean another zone in every account; IDs such as usw2-az1 do not. Which name
is which ID only the account can tell: the program looks it up before anything is registered. What a
stack file alone can tell are numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.kubernetes import ZONES_WITHOUT_CONTROL_PLANE
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.network import most_zones
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.network import NewNetwork
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

ZONE_WITHOUT_EKS = Rule(
    "GPU327",
    "error",
    "A network has no zone in which EKS places no control plane.",
    "EKS refuses the cluster with UnsupportedAvailabilityZoneException.",
    "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html",
)
NOT_IN_ZONE = Rule(
    "GPU328",
    "error",
    "Each zone of a pool offers an instance type of the pool.",
    "EKS refuses the node group: the instance type is not supported in the Availability Zone.",
    "https://github.com/eksctl-io/eksctl/issues/6461",
    not_alone="A pool is not told its region.",
)


@check(Scope.NETWORK, ZONE_WITHOUT_EKS)
def given_ids(ctx: Context) -> Iterator[Finding]:
    """For zones that are given by ID, where only a name is taken."""
    network = ctx.new_network
    if network is None or isinstance(network.zones, int):
        return
    for index, zone in enumerate(network.zones):
        if zone in ZONES_WITHOUT_CONTROL_PLANE:
            yield _without_eks(index, zone, zone)


def zones_without_eks(zones: Sequence[str], ids: Mapping[str, str]) -> Iterator[Finding]:
    """Zones of a network that EKS does not take.

    Args:
        zones: Names of the zones.
        ids: ID of each zone by its name, as far as they are known.
    """
    for index, zone in enumerate(zones):
        if ids.get(zone) in ZONES_WITHOUT_CONTROL_PLANE:
            yield _without_eks(index, zone, ids[zone])


def _without_eks(index: int, zone: str, zone_id: str) -> Finding:
    known = zone if zone == zone_id else f"{zone} is {zone_id} in this account, which"
    message = f"{known} has no EKS control planes."
    fix = "Name another zone, or the number of zones alone, which leaves it out."
    return ZONE_WITHOUT_EKS.finding(("network", "zones", index), message, fix)


@check(Scope.POOL, NOT_IN_ZONE)
def enough_zones(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For a pool in more zones than offer its types."""
    network = ctx.new_network
    if network is None or pool.provisioner != "managedNodeGroup" or ctx.region is None:
        return
    yield from _too_many_zones(ctx, ("pools", name), pool, network, ctx.region)


@check(Scope.SYSTEM_NODES, NOT_IN_ZONE)
def enough_zones_for_system(ctx: Context) -> Iterator[Finding]:
    """For system nodes in more zones than offer their types."""
    network, system = ctx.new_network, ctx.environment.system
    if network is not None and system is not None and ctx.region is not None:
        yield from _too_many_zones(ctx, ("system",), system, network, ctx.region)


def _too_many_zones(
    ctx: Context, at: FieldPath, nodes: Pool | SystemNodes, network: NewNetwork, region: str
) -> Iterator[Finding]:
    wanted = network.zones if nodes.zones is None else nodes.zones
    count = wanted if isinstance(wanted, int) else len({*wanted})
    offered = _offered(ctx.catalog, nodes, region)
    if offered and most_zones(region) >= count > len(offered):
        known = ", ".join(sorted(offered))
        what = "pool is" if at[0] == "pools" else "system nodes are"
        yield NOT_IN_ZONE.finding(
            (*at, "zones"),
            f"The {what} in {count} zones of {region}; {_types(nodes)} offered in "
            f"{len(offered)} of them: {known}.",
            f"Set zones to {'that one' if len(offered) == 1 else 'those'}: your account's names "
            "for them are in `aws ec2 describe-availability-zones`. If EC2 offers more by now, say "
            "so in catalog.instanceTypes.<type>.zoneIds.",
        )


def types_not_in_zones(
    catalog: Catalog,
    region: str,
    pools: Mapping[str, tuple[Pool, Sequence[str]]],
    ids: Mapping[str, str],
) -> Iterator[Finding]:
    """Zones of pools in which EC2 offers no type of the pool.

    Args:
        catalog: Which zones offer which type.
        region: AWS region.
        pools: Pools that the stack makes, each with the names of its zones.
        ids: ID of each zone by its name, as far as they are known.
    """
    names = {zone_id: name for name, zone_id in ids.items()}
    for name, (pool, zones) in pools.items():
        offered = _offered(catalog, pool, region)
        wrong = [zone for zone in zones if zone in ids and ids[zone] not in offered]
        if pool.provisioner == "karpenter" and len(wrong) < len(zones):
            continue  # it launches where there is one
        if offered and wrong:
            said = ", ".join(f"{zone} ({ids[zone]})" for zone in wrong)
            right = ", ".join(sorted(names.get(zone_id, zone_id) for zone_id in offered))
            yield NOT_IN_ZONE.finding(
                ("pools", name, "zones"),
                f"{_types(pool)} not offered in {said}.",
                f"Set zones to some of {right}. If EC2 offers it by now, say so in "
                "catalog.instanceTypes.<type>.zoneIds.",
            )


def _offered(catalog: Catalog, nodes: Pool | SystemNodes, region: str) -> set[str]:
    """IDs of zones that offer a type of the pool; empty where that is not known of each type."""
    types = [catalog.find(name) for name in nodes.instance_types]
    zones = [found.zones.get(region, ()) if found is not None else () for found in types]
    return {zone for each in zones for zone in each} if all(zones) else set()


def _types(nodes: Pool | SystemNodes) -> str:
    verb = "is" if len(nodes.instance_types) == 1 else "are"
    return f"{', '.join(nodes.instance_types)} {verb}"
