"""Rules about where nodes are put: zones, subnets, reservations, placement groups, EFA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog.resource_ids import is_id
from eks_gpushare.catalog.zones import ZONE_LETTERS
from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.network import BAD_ID, subnet_faults
from eks_gpushare.rules.registry import Runs, Scope, check
from eks_gpushare.sharing.scaling_range import scaled_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_NODE_GROUPS = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
_CAPACITY_BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
_RESERVATIONS = (
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
)
BLOCK_SHAPE = Rule(
    "GPU405",
    "error",
    "A capacity block is one instance type in one zone.",
    "EKS refuses the node group: the launch template names the one type, and all nodes are in the "
    "subnet of the block's zone.",
    _CAPACITY_BLOCKS,
)
RESERVATION_ZONE = Rule(
    "GPU406",
    "error",
    "A pool with a reservation is in the reservation's zone.",
    "In other zones the launch fails, since the reservation is not there.",
    _RESERVATIONS,
)
ZONE_OUTSIDE = Rule(
    "GPU407",
    "error",
    "The zones of a pool are zones of the network.",
    "There is no subnet for the nodes.",
    _NODE_GROUPS,
    not_alone="The program chooses the subnets itself.",
)
ZONE_REGION = Rule(
    "GPU408",
    "error",
    "A zone is one of the stack's region.",
    "AWS does not know it there. A zone that the region has got since this release is used where "
    "network.zones is a number, for which AWS is asked.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html",
)
NO_EFA = Rule(
    "GPU412",
    "error",
    "EFA is for types that have it, in one zone.",
    "The launch template is refused.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
)
GROUP_PLACEMENT = Rule(
    "GPU413",
    "error",
    "A placement group is in one zone, without a reservation of its own placing.",
    "The launch fails with InsufficientInstanceCapacity.",
    "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3730",
)
SUBNETS = Rule(
    "GPU414",
    "error",
    "Subnets are named where the network is there already, zones where the stack makes it.",
    "One of the two would be ignored.",
    _NODE_GROUPS,
)
ZONE_TWICE = Rule(
    "GPU441",
    "error",
    "A zone of nodes stands once.",
    "Counted twice, it would look like a second zone to whoever reads the file.",
    _NODE_GROUPS,
    not_alone="The program chooses the subnets itself.",
)
ONE_GROUP = Rule(
    "GPU444",
    "info",
    "A pool that Cluster Autoscaler scales is in one zone.",
    "It takes the nodes to come to be in the zone of one that is there, or in the group's first: "
    "pods with a volume in another zone get no node, or one that does not help them.",
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/"
    "cloudprovider/aws/README.md#common-notes-and-gotchas",
)
EFA_ZONES = rule_of("GPU627")
_RESERVED = {"reserved", "capacityBlock"}


@check(Scope.POOL, BLOCK_SHAPE, RESERVATION_ZONE)
def reservation_place(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not {*pool.bought_as} <= _RESERVED:
        return
    block = "capacityBlock" in pool.bought_as
    if block and len(pool.instance_types) > 1:
        yield BLOCK_SHAPE.finding(
            ("pools", name, "instanceTypes"),
            f"A capacity block has one instance type; {len(pool.instance_types)} are given.",
            "Name the type of the block alone.",
        )
    # Karpenter asks EC2 where a reservation lies.
    if pool.provisioner != "karpenter" and _places(ctx, pool) != 1:
        yield (BLOCK_SHAPE if block else RESERVATION_ZONE).finding(
            ("pools", name, _place_key(ctx)),
            f"A reservation lies in one zone; this pool {_reach(ctx, pool)}.",
            f"Set {_place_key(ctx)} to the one of the reservation.",
        )


def _place_key(ctx: Context) -> str:
    if ctx.subnets is not None:
        return "cluster_subnet_ids"
    return "zones" if ctx.new_network is not None else "subnetIds"


def _reach(ctx: Context, pool: Pool) -> str:
    made = ctx.subnets is None and ctx.new_network is not None
    count, what = _places(ctx, pool), "zones" if made else "subnets"
    return f"may use {count} {what}" if count else f"names no {what}"


def _places(ctx: Context, pool: Pool) -> int:
    """How many zones, or subnets, a pool may use."""
    if ctx.subnets is not None:
        return ctx.subnets
    if ctx.new_network is None:
        return len(pool.subnet_ids or ())
    if pool.zones is not None:
        return len(pool.zones)
    zones = ctx.new_network.zones
    return zones if isinstance(zones, int) else len(zones)


@check(Scope.POOL, ZONE_OUTSIDE, ZONE_REGION, SUBNETS, BAD_ID, ZONE_TWICE)
def pool_zones(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "zones")
    network = ctx.new_network
    if pool.zones is not None and network is None:
        fix = "Use subnetIds, with the subnets in those zones."
        yield SUBNETS.finding(at, "The zones of an existing network are not known here.", fix)
        return
    if pool.subnet_ids is not None and network is not None:
        message = "The stack makes the network, so its subnets have no IDs yet."
        yield SUBNETS.finding(("pools", name, "subnetIds"), message, "Use zones.")
    elif pool.subnet_ids is not None and not pool.subnet_ids:
        fix = "Name a subnet, or remove the key."
        yield SUBNETS.finding(("pools", name, "subnetIds"), "The list is empty.", fix)
    elif pool.subnet_ids is not None:
        yield from subnet_faults(("pools", name, "subnetIds"), pool.subnet_ids)
    if pool.zones is not None and network is not None:
        yield from _pinned_zones(ctx.region, network.zones, at, pool.zones)


@check(Scope.POOL, ONE_GROUP)
def one_group(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """At more nodes the model is a node that is there, of whatever zone."""
    if scaled_by(pool) == "clusterAutoscaler" and _places(ctx, pool) > 1:
        yield ONE_GROUP.finding(
            ("pools", name, _place_key(ctx)),
            f"The pool {_reach(ctx, pool)} and is one node group, of which Cluster Autoscaler "
            "takes all nodes to come to be in one of them.",
            "For pods that are bound to a zone, by a volume or an affinity, make a pool for each "
            "zone, or use Karpenter.",
        )


@check(Scope.SYSTEM_NODES, ZONE_OUTSIDE, ZONE_REGION, SUBNETS, ZONE_TWICE)
def system_zones(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    system = ctx.environment.system
    if system is None or system.zones is None:
        return
    at = ("system", "zones")
    if ctx.new_network is None:
        message = "The zones of an existing network are not known here."
        yield SUBNETS.finding(at, message, "Remove zones: the nodes use the private subnets.")
    else:
        yield from _pinned_zones(ctx.region, ctx.new_network.zones, at, system.zones)


def _pinned_zones(
    region: str | None, known: int | Sequence[str], at: FieldPath, zones: Sequence[str]
) -> Iterator[Finding]:
    """What is wrong with zones that are to be some of a network's."""
    if not zones:
        yield ZONE_OUTSIDE.finding(at, "The list is empty.", "Name a zone, or remove the key.")
    if elsewhere := _of_another_region(zones, region):
        yield ZONE_REGION.finding(at, *elsewhere)
        return
    for index, zone in enumerate(zones):
        if fault := zone_fault(zone, region):
            yield ZONE_REGION.finding((*at, index), fault, "Correct the zone.")
        elif zone in zones[:index]:
            message = f"{zone} stands twice."
            yield ZONE_TWICE.finding((*at, index), message, "Remove one of the two.")
        elif not isinstance(known, int) and zone not in known:
            yield ZONE_OUTSIDE.finding(
                (*at, index),
                f"{zone} is not a zone of the network, which has {', '.join(known)}.",
                "Add it to network.zones, or use one of those.",
            )


@check(Scope.POOL, SUBNETS, runs=Runs.ALONE)
def elsewhere_placed(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For a pool whose subnets come from the program that uses it."""
    if ctx.nodes_elsewhere:
        return
    for key, given in (("zones", pool.zones), ("subnetIds", pool.subnet_ids)):
        if given is not None:
            message = "The subnets of a pool that is used alone are given by its program."
            at = ("pools", name, key)
            yield SUBNETS.finding(at, message, "Use cluster_subnet_ids alone.")


@check(Scope.SYSTEM_NODES, SUBNETS, runs=Runs.ALONE)
def elsewhere_placed_system(ctx: Context) -> Iterator[Finding]:
    """For system nodes whose subnets come from the program that uses them."""
    system = ctx.environment.system
    if system is not None and system.zones is not None:
        message = "The subnets of nodes that are used alone are given by their program."
        yield SUBNETS.finding(("system", "zones"), message, "Use subnet_ids alone.")


def _of_another_region(zones: Sequence[str], region: str | None) -> tuple[str, str] | None:
    """What is said of zones that are all of one region, and not of the stack's; None of others."""
    regions = {zone[:-1] for zone in zones}
    if region is None or len(zones) == 1 or len(regions) != 1 or regions == {region}:
        return None
    (other,) = regions
    if any(zone_fault(zone, other) for zone in zones) or not _REGION.fullmatch(other):
        return None
    message = f"{' and '.join(zones)} are zones of {other}, and the stack is in {region}."
    return message, f"Name zones of {region}, or write aws:region: {other}."


_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[1-9]")


def zone_fault(zone: str, region: str | None) -> str | None:
    """Why a zone cannot be one of the region, or None."""
    if region is None:
        return None
    if zone[:-1] != region or not "a" <= zone[-1] <= "f":
        return f"{zone} is not a zone of {region}; zones are named {region}a to {region}f."
    letters = ZONE_LETTERS.get(region)
    if letters is not None and zone[-1] not in letters:
        named = ", ".join(f"{region}{letter}" for letter in letters)
        return f"{region} has no zone {zone}; it has {named}."
    return None


@check(Scope.NETWORK, ZONE_REGION)
def network_zones(ctx: Context) -> Iterator[Finding]:
    """For the zones of a network."""
    network = ctx.new_network
    if network is None or isinstance(network.zones, int):
        return
    if elsewhere := _of_another_region(network.zones, ctx.region):
        yield ZONE_REGION.finding(("network", "zones"), *elsewhere)
        return
    for index, zone in enumerate(network.zones):
        if fault := zone_fault(zone, ctx.region):
            yield ZONE_REGION.finding(("network", "zones", index), fault, "Correct the zone.")


@check(Scope.POOL, NO_EFA)
def efa(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not pool.efa:
        return
    for found, _ in ctx.gpu_types(pool):
        if not found.efa_interfaces:
            message = f"{found.name} has no EFA interface."
            fix = "Remove efa, or take a type with EFA."
            yield NO_EFA.finding(("pools", name, "efa"), message, fix)
    if len(pool.instance_types) > 1:
        yield NO_EFA.finding(
            ("pools", name, "efa"),
            "The number of EFA interfaces belongs to one instance type; several are given.",
            "Make a pool per type.",
        )


@check(Scope.POOL, EFA_ZONES)
def efa_zones(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For EFA in several zones; a placement group says so as an error."""
    made = pool.provisioner != "existing" and not ctx.nodes_elsewhere
    if pool.efa and made and not pool.placement_group and _places(ctx, pool) > 1:
        yield EFA_ZONES.finding(
            ("pools", name, _place_key(ctx)),
            f"EFA works within a zone; this pool {_reach(ctx, pool)}.",
            f"Set {_place_key(ctx)} to a single one, or make a pool for each.",
        )


@check(Scope.POOL, GROUP_PLACEMENT)
def placement(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not pool.placement_group:
        return
    at = ("pools", name, "placementGroup")
    if _RESERVED & {*pool.bought_as}:
        yield GROUP_PLACEMENT.finding(
            at,
            "A reservation has its own placement.",
            "Remove placementGroup; a cluster placement group belongs to the reservation itself.",
        )
    if _places(ctx, pool) != 1:
        yield GROUP_PLACEMENT.finding(
            at,
            f"A cluster placement group lies in one zone; this pool {_reach(ctx, pool)}.",
            f"Set {_place_key(ctx)} to a single one.",
        )


@check(Scope.ENVIRONMENT, SUBNETS)
def existing_subnets(ctx: Context) -> Iterator[Finding]:
    """For an existing network."""
    network = ctx.environment.network
    if not isinstance(network, ExistingNetwork):
        return
    known = {*network.private_subnet_ids, *network.public_subnet_ids}
    for name, pool in ctx.environment.pools.items():
        for index, subnet in enumerate(pool.subnet_ids or ()):
            if is_id("subnet", subnet) and subnet not in known:
                yield SUBNETS.finding(
                    ("pools", name, "subnetIds", index),
                    f"{subnet} is not one of network.privateSubnetIds.",
                    "Add it there, or use one of those.",
                )
