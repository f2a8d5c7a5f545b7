"""Rules about how many nodes there are, and how they are bought and placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.findings.finding import Code, finding
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.pools import Nodes, Pool
    from eks_gpushare.findings.finding import At, Finding
    from eks_gpushare.rules.context import Context

_NODE_GROUPS = "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html"
_CAPACITY_BLOCKS = "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html"
_RESERVATIONS = (
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
)

SIZE_ORDER = Code(
    "GPU401",
    "error",
    "min <= desired <= max, and max is at least 1.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html",
)
KARPENTER_SIZES = Code(
    "GPU402",
    "error",
    "A Karpenter pool has a maximum only.",
    "Karpenter starts nodes for pods; a minimum or desired size would be ignored.",
    "https://karpenter.sh/docs/concepts/nodepools/",
)
NO_RESERVATION = Code(
    "GPU403",
    "error",
    "Reserved capacity names its reservation.",
    "Without it the instances are bought on demand, beside the reservation that is paid for.",
    _RESERVATIONS,
)
IDLE_RESERVATION = Code(
    "GPU404",
    "error",
    "A reservation is used.",
    "With onDemand or spot the reservation would be ignored, and paid for.",
    _RESERVATIONS,
)
BLOCK_SHAPE = Code(
    "GPU405",
    "error",
    "A capacity block is one instance type in one zone.",
    "EKS refuses the node group: the launch template names the one type, and all nodes are in the "
    "subnet of the block's zone.",
    _CAPACITY_BLOCKS,
)
RESERVATION_ZONE = Code(
    "GPU406",
    "error",
    "A pool with a reservation is in the reservation's zone.",
    "In other zones the launch fails, since the reservation is not there.",
    _RESERVATIONS,
)
ZONE_OUTSIDE = Code(
    "GPU407",
    "error",
    "The zones of a pool are zones of the network.",
    "There is no subnet for the nodes.",
    _NODE_GROUPS,
)
ZONE_REGION = Code(
    "GPU408",
    "error",
    "A zone is one of the stack's region.",
    "AWS does not know it there.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html",
)
NOT_SOLD_SO = Code(
    "GPU410",
    "error",
    "The instance type is sold in the way that is asked for.",
    "The node group is created and never gets a node.",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html",
)
NO_EFA = Code(
    "GPU412",
    "error",
    "EFA is for types that have it, in one zone.",
    "The launch template is refused.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
)
GROUP_PLACEMENT = Code(
    "GPU413",
    "error",
    "A placement group is in one zone, without a reservation of its own placing.",
    "The launch fails with InsufficientInstanceCapacity.",
    "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3730",
)
SUBNETS = Code(
    "GPU414",
    "error",
    "Subnets are named where the network is there already, zones where the stack makes it.",
    "One of the two would be ignored.",
    _NODE_GROUPS,
)

CODES = (
    SIZE_ORDER,
    KARPENTER_SIZES,
    NO_RESERVATION,
    IDLE_RESERVATION,
    BLOCK_SHAPE,
    RESERVATION_ZONE,
    ZONE_OUTSIDE,
    ZONE_REGION,
    NOT_SOLD_SO,
    NO_EFA,
    GROUP_PLACEMENT,
    SUBNETS,
)
_RESERVED = {"reserved", "capacityBlock"}


def pool_sizes(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU401, GPU402."""
    at = ("pools", name, "nodes")
    if pool.provisioner == "karpenter":
        most = pool.nodes.max
        if most is not None and most < 1:
            message = f"max {most} lets the pool have no node."
            yield finding(SIZE_ORDER, (*at, "max"), message, "Set max to 1 or more.")
        given = [key for key in ("min", "desired") if getattr(pool.nodes, key) is not None]
        for key in given:
            yield finding(
                KARPENTER_SIZES,
                (*at, key),
                f"{key} means nothing to Karpenter, which starts nodes when pods need them.",
                f"Remove {key}.",
            )
    else:
        yield from size_order(at, pool.nodes)


def system_sizes(ctx: Context) -> Iterator[Finding]:
    """GPU401 for the system nodes."""
    if ctx.environment.system is not None:
        yield from size_order(("system", "nodes"), ctx.environment.system.nodes)


def size_order(at: At, nodes: Nodes) -> Iterator[Finding]:
    """Findings on sizes that do not fit together."""
    size = sizes(nodes)
    if size.min < 0:
        message = f"min {size.min} is less than 0."
        yield finding(SIZE_ORDER, (*at, "min"), message, "Set min to 0 or more.")
    elif size.max < 1:
        message = f"max {size.max} lets there be no node."
        yield finding(SIZE_ORDER, (*at, "max"), message, "Set max to 1 or more.")
    elif not size.min <= size.desired <= size.max:
        yield finding(
            SIZE_ORDER,
            at,
            f"min {size.min}, desired {size.desired} and max {size.max} are not in this order.",
            "Make min <= desired <= max.",
        )


def reservations(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU403, GPU404."""
    at = ("pools", name, "reservation")
    if pool.capacity_type in _RESERVED:
        if pool.reservation is None:
            yield finding(
                NO_RESERVATION,
                at,
                f"capacityType: {pool.capacity_type} needs the reservation it draws on.",
                "Add reservation: {id: cr-...}.",
            )
        elif not pool.reservation.id.startswith("cr-"):
            yield finding(
                NO_RESERVATION,
                (*at, "id"),
                f'"{pool.reservation.id}" is not the ID of a reservation, cr-...',
                "Copy it from EC2, Capacity Reservations.",
            )
    elif pool.reservation is not None:
        yield finding(
            IDLE_RESERVATION,
            at,
            f"capacityType: {pool.capacity_type} does not draw on a reservation.",
            "Set capacityType: reserved or capacityBlock, or remove the reservation.",
        )


def reservation_place(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU405, GPU406."""
    if pool.capacity_type not in _RESERVED:
        return
    block = pool.capacity_type == "capacityBlock"
    if block and len(pool.instance_types) > 1:
        yield finding(
            BLOCK_SHAPE,
            ("pools", name, "instanceTypes"),
            f"A capacity block has one instance type; {len(pool.instance_types)} are given.",
            "Name the type of the block alone.",
        )
    if _places(ctx, pool) != 1:
        yield finding(
            BLOCK_SHAPE if block else RESERVATION_ZONE,
            ("pools", name, _place_key(ctx)),
            f"A reservation lies in one zone; this pool {_reach(ctx, pool)}.",
            f"Set {_place_key(ctx)} to the one of the reservation.",
        )


def _place_key(ctx: Context) -> str:
    return "zones" if ctx.new_network is not None else "subnetIds"


def _reach(ctx: Context, pool: Pool) -> str:
    count, what = _places(ctx, pool), "zones" if ctx.new_network is not None else "subnets"
    return f"may use {count} {what}" if count else f"names no {what}"


def _places(ctx: Context, pool: Pool) -> int:
    """How many zones, or subnets, a pool may use."""
    if ctx.new_network is None:
        return len(pool.subnet_ids or ())
    if pool.zones is not None:
        return len(pool.zones)
    zones = ctx.new_network.zones
    return zones if isinstance(zones, int) else len(zones)


def pool_zones(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU407, GPU408, GPU414."""
    at = ("pools", name, "zones")
    network = ctx.new_network
    if pool.zones is not None and network is None:
        fix = "Use subnetIds, with the subnets in those zones."
        yield finding(SUBNETS, at, "The zones of an existing network are not known here.", fix)
        return
    if pool.subnet_ids is not None and network is not None:
        message = "The stack makes the network, so its subnets have no IDs yet."
        yield finding(SUBNETS, ("pools", name, "subnetIds"), message, "Use zones.")
    yield from _pinned_zones(ctx, at, pool.zones)


def system_zones(ctx: Context) -> Iterator[Finding]:
    """GPU407, GPU408, GPU414 for the system nodes."""
    system = ctx.environment.system
    if system is None or system.zones is None:
        return
    at = ("system", "zones")
    if ctx.new_network is None:
        message = "The zones of an existing network are not known here."
        yield finding(SUBNETS, at, message, "Remove zones: the nodes use the private subnets.")
    else:
        yield from _pinned_zones(ctx, at, system.zones)


def _pinned_zones(ctx: Context, at: At, zones: Sequence[str] | None) -> Iterator[Finding]:
    network = ctx.new_network
    known = network.zones if network is not None else 0
    for index, zone in enumerate(zones or ()):
        if fault := zone_fault(zone, ctx.region):
            yield finding(ZONE_REGION, (*at, index), fault, "Correct the zone.")
        elif not isinstance(known, int) and zone not in known:
            yield finding(
                ZONE_OUTSIDE,
                (*at, index),
                f"{zone} is not a zone of the network, which has {', '.join(known)}.",
                "Add it to network.zones, or use one of those.",
            )
    if zones is not None and not zones:
        yield finding(ZONE_OUTSIDE, at, "The list is empty.", "Name a zone, or remove the key.")


def elsewhere_placed(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU414 for a pool whose subnets come from the program that uses it."""
    for key, given in (("zones", pool.zones), ("subnetIds", pool.subnet_ids)):
        if given is not None:
            message = "The subnets of a pool that is used alone are given by its program."
            at = ("pools", name, key)
            yield finding(SUBNETS, at, message, "Use cluster_subnet_ids alone.")


def zone_fault(zone: str, region: str | None) -> str | None:
    """Why a zone cannot be one of the region, or None."""
    if region is None:
        return None
    if zone[:-1] != region or not "a" <= zone[-1] <= "f":
        return f"{zone} is not a zone of {region}; zones are named {region}a to {region}f."
    return None


def network_zones(ctx: Context) -> Iterator[Finding]:
    """GPU408 for the zones of a network."""
    network = ctx.new_network
    if network is None or isinstance(network.zones, int):
        return
    for index, zone in enumerate(network.zones):
        if fault := zone_fault(zone, ctx.region):
            yield finding(ZONE_REGION, ("network", "zones", index), fault, "Correct the zone.")


_USAGE_CLASS = {"onDemand": "on-demand", "spot": "spot", "capacityBlock": "capacity-block"}


def sold_so(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU410."""
    wanted = _USAGE_CLASS.get(pool.capacity_type)
    for found, _ in ctx.gpu_types(pool):
        if found.family.startswith("p6e-gb"):  # has a rule of its own
            continue
        if wanted is not None and found.usage_classes and wanted not in found.usage_classes:
            words = {sold: key for key, sold in _USAGE_CLASS.items()}
            sold = " and ".join(words.get(kind, kind) for kind in found.usage_classes)
            yield finding(
                NOT_SOLD_SO,
                ("pools", name, "capacityType"),
                f"{found.name} can be had as {sold}, not as {pool.capacity_type}.",
                "Choose another capacityType or instance type.",
            )


def efa(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU412."""
    if not pool.efa:
        return
    for found, _ in ctx.gpu_types(pool):
        if not found.efa_interfaces:
            message = f"{found.name} has no EFA interface."
            fix = "Remove efa, or take a type with EFA."
            yield finding(NO_EFA, ("pools", name, "efa"), message, fix)
    if len(pool.instance_types) > 1:
        yield finding(
            NO_EFA,
            ("pools", name, "efa"),
            "The number of EFA interfaces belongs to one instance type; several are given.",
            "Make a pool per type.",
        )


def placement(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU413."""
    if not pool.placement_group:
        return
    at = ("pools", name, "placementGroup")
    if pool.capacity_type in _RESERVED:
        yield finding(
            GROUP_PLACEMENT,
            at,
            "A reservation has its own placement.",
            "Remove placementGroup; a cluster placement group belongs to the reservation itself.",
        )
    if _places(ctx, pool) != 1:
        yield finding(
            GROUP_PLACEMENT,
            at,
            f"A cluster placement group lies in one zone; this pool {_reach(ctx, pool)}.",
            f"Set {_place_key(ctx)} to a single one.",
        )


def existing_subnets(ctx: Context) -> Iterator[Finding]:
    """GPU414 for an existing network."""
    network = ctx.environment.network
    if not isinstance(network, ExistingNetwork):
        return
    known = {*network.private_subnet_ids, *network.public_subnet_ids}
    for name, pool in ctx.environment.pools.items():
        for index, subnet in enumerate(pool.subnet_ids or ()):
            if subnet not in known:
                yield finding(
                    SUBNETS,
                    ("pools", name, "subnetIds", index),
                    f"{subnet} is not one of network.privateSubnetIds.",
                    "Add it there, or use one of those.",
                )
