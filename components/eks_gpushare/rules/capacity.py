"""Rules about how instances are bought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.resource_ids import is_id
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import sizes
from eks_gpushare.sharing.scaling_range import scaled_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_RESERVATIONS = (
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html"
)
NO_RESERVATION = Rule(
    "GPU403",
    "error",
    "Reserved capacity names its reservation.",
    "Without it the instances are bought on demand, beside the reservation that is paid for.",
    _RESERVATIONS,
)
IDLE_RESERVATION = Rule(
    "GPU404",
    "error",
    "A reservation is used.",
    "With onDemand or spot the reservation would be ignored, and paid for.",
    _RESERVATIONS,
)
NOT_SOLD_SO = Rule(
    "GPU410",
    "error",
    "The instance type is sold in the way that is asked for.",
    "The node group is created and never gets a node.",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html",
)
TORN_RESERVATION = Rule(
    "GPU628",
    "error",
    "A reservation is of one instance type in one zone.",
    "EC2 launches into it what matches it, and refuses the rest: the node group never gets those "
    "nodes.",
    _RESERVATIONS,
    not_alone="A pool is not told of other pools.",
)
TOO_FEW_RESERVED = Rule(
    "GPU442",
    "error",
    "A reservation has an instance for each node that draws on nothing else.",
    "EC2 refuses the nodes above it, and pods wait for them for ever.",
    _RESERVATIONS,
)
SCALED_BLOCK = Rule(
    "GPU792",
    "info",
    "An autoscaler scales what is paid for by the hour.",
    "A capacity block is paid for whether its nodes run or not, and outside of its time the "
    "autoscaler asks in vain.",
    "https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html",
)
_RESERVED = {"reserved", "capacityBlock"}
_USAGE_CLASS = {"onDemand": "on-demand", "spot": "spot", "capacityBlock": "capacity-block"}


@check(Scope.POOL, NO_RESERVATION, IDLE_RESERVATION)
def reservations(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "reservation")
    drawn = [way for way in pool.bought_as if way in _RESERVED]
    if drawn:
        if pool.reservation is None:
            yield NO_RESERVATION.finding(
                at,
                f"capacityType: {drawn[0]} needs the reservation it draws on.",
                "Add reservation: {id: cr-...}.",
            )
        elif not is_id("cr", pool.reservation.id):
            yield NO_RESERVATION.finding(
                (*at, "id"),
                f'"{pool.reservation.id}" is not the ID of a reservation, cr- and 17 hexadecimal '
                "digits.",
                "Copy it from EC2, Capacity Reservations.",
            )
    elif pool.reservation is not None:
        yield IDLE_RESERVATION.finding(
            at,
            f"capacityType: {', '.join(pool.bought_as)} does not draw on a reservation.",
            "Set capacityType: reserved or capacityBlock, or remove the reservation.",
        )


@check(Scope.POOL, NOT_SOLD_SO)
def sold_so(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    ways = pool.bought_as
    classes = {_USAGE_CLASS.get(way) for way in ways}
    for found, _ in ctx.gpu_types(pool):
        if found.family.startswith("p6e-gb"):  # has a rule of its own
            continue
        # A reservation may be of any type; of several ways, one that there is will do.
        if None not in classes and found.usage_classes and not classes & {*found.usage_classes}:
            words = {sold: key for key, sold in _USAGE_CLASS.items()}
            sold = " and ".join(words.get(kind, kind) for kind in found.usage_classes)
            yield NOT_SOLD_SO.finding(
                ("pools", name, *_key_of_ways(pool)),
                f"{found.name} can be had as {sold}, not as {' or '.join(ways)}.",
                "Choose another capacityType or instance type.",
            )


def _key_of_ways(pool: Pool) -> tuple[str, ...]:
    """The key that says how the instances are bought."""
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    return ("karpenter", "capacityTypes") if own and own.capacity_types else ("capacityType",)


@check(Scope.POOL, TOO_FEW_RESERVED)
def enough_reserved(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    held = pool.reservation.instances if pool.reservation else None
    if held is None:
        return
    at = ("pools", name, "reservation", "instances")
    most = pool.nodes.max if pool.provisioner == "karpenter" else sizes(pool.nodes).max
    if held < 1:
        message = f"{held} instances are no reservation."
        yield TOO_FEW_RESERVED.finding(at, message, "Give how many it has, or remove the key.")
    elif most is not None and most > held and {*pool.bought_as} <= _RESERVED:
        are = "is" if held == 1 else "are"
        yield TOO_FEW_RESERVED.finding(
            at,
            f"The pool may have {most} nodes, and {held} of them {are} reserved.",
            f"Lower nodes.max to {held}, or give how many instances the reservation has.",
        )


@check(Scope.POOL, SCALED_BLOCK)
def capacity_block(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    by = scaled_by(pool)
    if by is not None and "capacityBlock" in pool.bought_as and not pool.is_static:
        key, instead = (
            ("provisioner", "karpenter: {static: true}")
            if by == "karpenter"
            else ("scaledBy", "scaledBy: stack")
        )
        yield SCALED_BLOCK.finding(
            ("pools", name, key),
            "The nodes of a capacity block are paid for, whether an autoscaler takes them away or "
            "not.",
            f"Set {instead}, and nodes.desired to the size of the block while it lasts.",
        )


@check(Scope.ENVIRONMENT, TORN_RESERVATION)
def torn_reservations(ctx: Context) -> Iterator[Finding]:
    """For several types in a reservation, and for one that several pools draw on."""
    first: dict[str, tuple[str, Pool]] = {}
    for name, pool in ctx.environment.pools.items():
        types, ways = {*pool.instance_types}, {*pool.bought_as}
        # What else it has than the reservation, it has of what does not match that.
        if pool.reservation is None or not ways <= _RESERVED:
            continue
        if ways == {"reserved"} and len(types) > 1:
            yield TORN_RESERVATION.finding(
                ("pools", name, "instanceTypes"),
                f"A reservation is of one instance type; {len(types)} are given.",
                "Name the type of the reservation alone.",
            )
            continue
        other, before = first.setdefault(pool.reservation.id, (name, pool))
        for key, here, there in (
            ("instanceTypes", pool.instance_types, before.instance_types),
            ("zones", pool.zones, before.zones),
            ("subnetIds", pool.subnet_ids, before.subnet_ids),
        ):
            if here and there and {*here} != {*there}:
                yield TORN_RESERVATION.finding(
                    ("pools", name, key),
                    f"{pool.reservation.id} is the reservation of the pool {other} too, which has "
                    f"{', '.join(there)} here.",
                    "Use the same in both, or a reservation of its own.",
                )
                break
