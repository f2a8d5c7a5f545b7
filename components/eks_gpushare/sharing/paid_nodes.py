"""Nodes with what they cost and how their price is divided among the shares on them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from eks_gpushare.sharing import resources
from eks_gpushare.sharing.cost_split import PaidNodes
from eks_gpushare.sharing.mig.layout import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.sharing.cost_split import PodShares
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.resources import Share

SplitBy: TypeAlias = Literal["share", "memory"]
SPLITS: tuple[SplitBy, ...] = ("share", "memory")
"""By what the price of a node is divided: by its shares, of MIG devices by their compute slices; or
by their GPU memory."""
_FINEST = 1_000_000
"""Parts of a node are fractions of far smaller numbers, which floats only come close to."""
_HOURS_PER_WEEK = 168
_NOT_LISTED = {
    "spot": "spot prices change by the hour, and AWS lists none; write what you pay to "
    "catalog: {{instanceTypes: {{{type}: {{spotUsdPerHour: ...}}}}}}",
    "capacityBlock": "a capacity block is paid when it is reserved",
}


class SplitError(Exception):
    """The price of a node cannot be divided as asked; the text says why, and what to do."""


class ObservedNodes(NamedTuple):
    """Nodes of one pool and type that are there, and what they advertise."""

    pool: str
    instance_type: str
    capacity: str | None
    """As what they were bought, `onDemand` or `spot`; None where it is not known."""
    number: Fraction
    """How many; over a time so many on average."""
    advertised: Mapping[str, Fraction]
    """All of them together, by resource."""


class UseMoment(NamedTuple):
    """What there is of a stack, and who holds it."""

    nodes: tuple[ObservedNodes, ...] | None
    """Those of its pools; None where the stack itself has to say."""
    holdings: tuple[PodShares, ...]
    notes: tuple[str, ...] = ()
    """What is not counted, a sentence each."""
    part: Fraction = Fraction(1)
    """For what part of the time this is so."""


class NodePrice(NamedTuple):
    """What a node costs."""

    usd: Fraction | None
    """USD per hour; None where it is not known."""
    unknown: str = ""
    """Why it is not known, as a sentence."""


class Prices:
    """Prices and shares of the nodes of a stack."""

    def __init__(
        self,
        plans: Mapping[str, PoolPlan],
        catalog: Catalog,
        region: str | None,
        split: SplitBy = "share",
    ) -> None:
        """Those of a stack.

        Args:
            plans: Its pools, by name.
            catalog: Where instance types are looked up, with what the stack adds.
            region: Where it is; without it no price is known.
            split: By what the price of a node is divided.
        """
        self.plans, self._catalog, self._region, self._split = plans, catalog, region, split

    def price(self, pool: str, instance_type: str, capacity: str | None = None) -> NodePrice:
        """What a node of a pool costs.

        Args:
            pool: A pool of the stack.
            instance_type: Its type.
            capacity: As what it was bought, `onDemand` or `spot`. Default: as the pool says; one
                that may be bought in several ways counts as on demand, which is the dearest.
        """
        ways = self.plans[pool].pool.bought_as if capacity is None else (capacity,)
        if self._region is None:
            return NodePrice(None, f"{pool}: the stack names no aws:region.")
        found = self._catalog.find(instance_type)
        listed = found.price(self._region, ways) if found is not None else None
        if listed is None and not {"onDemand", "reserved"} & {*ways}:
            way = "spot" if "spot" in ways else ways[0]
            return NodePrice(None, f"{pool}: {_NOT_LISTED[way].format(type=instance_type)}.")
        if listed is None:
            said = f"{pool}: no price of {instance_type} in {self._region} is known; write it to "
            said += f"catalog: {{instanceTypes: {{{instance_type}: {{priceUsdPerHour: ...}}}}}}."
            return NodePrice(None, said)
        return NodePrice(Fraction(str(listed)))

    def parts(self, pool: str, instance_type: str) -> dict[str, Fraction]:
        """What part of a node's price a share of each kind has.

        Those of a node add up to 1. None are told of a type whose GPUs cannot be shared as the
        pool says.

        Raises:
            SplitError: If they are to be divided by memory, and that of one is not known.
        """
        shares = self._shares(pool, instance_type)
        weights = {share.resource: self._weight(share, pool) for share in shares}
        whole = sum((share.per_node * weights[share.resource] for share in shares), Fraction(0))
        return {name: weight / whole for name, weight in weights.items()} if whole else {}

    def declared(self) -> tuple[list[PaidNodes], list[str]]:
        """The nodes that a stack keeps, and what is reserved for it beyond them.

        Of several types a pool may have the dearest counts, as for `preview`. What is kept in some
        hours of a week counts for that part of it.

        Returns:
            The nodes, and why prices are unknown, a sentence each.

        Raises:
            SplitError: As for `parts`.
        """
        found: list[PaidNodes] = []
        unknown: dict[str, None] = {}
        for pool, plan in self.plans.items():
            prices = {name: self.price(pool, name) for name in plan.pool.instance_types}
            instance_type = max(prices, key=lambda name: prices[name].usd or 0)
            lacking = [price.unknown for price in prices.values() if price.usd is None]
            price = None if lacking else prices[instance_type].usd
            if kept := plan.kept + _scheduled(plan):
                unknown |= dict.fromkeys(lacking)
                parts, node = self.parts(pool, instance_type), plan.per_node[instance_type]
                offered = {name: kept * node[name] for name in parts}
                found.append(PaidNodes(pool, instance_type, kept, price, parts, offered))
            idle, why = self.reserved(pool, kept, instance_type, price)
            found += idle
            unknown |= dict.fromkeys([*(lacking if idle else ()), *why])
        return found, list(unknown)

    def possible(self) -> tuple[list[PaidNodes], list[str]]:
        """A node type each that a pool may have, as none of it, and why prices are unknown."""
        found: list[PaidNodes] = []
        unknown: dict[str, None] = {}
        for pool, plan in self.plans.items():
            for name in plan.pool.instance_types:
                price = self.price(pool, name)
                found.append(PaidNodes(pool, name, Fraction(0), price.usd, {}, {}))
                unknown |= {price.unknown: None} if price.unknown else {}
        return found, list(unknown)

    def observed(self, nodes: Iterable[ObservedNodes]) -> tuple[list[PaidNodes], list[str]]:
        """Nodes that are there, and what is reserved beyond them, otherwise as `declared`.

        Args:
            nodes: Those of pools of the stack.

        Raises:
            SplitError: As for `parts`.
        """
        found: list[PaidNodes] = []
        unknown: dict[str, None] = {}
        counts = dict.fromkeys(self.plans, Fraction(0))
        for each in nodes:
            price = self.price(each.pool, each.instance_type, each.capacity)
            unknown |= {price.unknown: None} if price.unknown else {}
            parts = self.parts(each.pool, each.instance_type)
            offered = {name: each.advertised.get(name, Fraction(0)) for name in parts}
            found.append(
                PaidNodes(each.pool, each.instance_type, each.number, price.usd, parts, offered)
            )
            counts[each.pool] += each.number
        for pool, there in counts.items():
            instance_type = self.plans[pool].pool.instance_types[0]
            price = self.price(pool, instance_type)
            idle, why = self.reserved(pool, there, instance_type, price.usd)
            found += idle
            unknown |= dict.fromkeys([*([price.unknown] if idle and price.unknown else ()), *why])
        return found, list(unknown)

    def reserved(
        self, pool: str, there: int | Fraction, instance_type: str, price: Fraction | None
    ) -> tuple[list[PaidNodes], list[str]]:
        """Instances that are reserved for a pool, and paid for, beyond the nodes that are there.

        Args:
            pool: The pool.
            there: How many nodes it has.
            instance_type: Their type.
            price: What one costs.

        Returns:
            They as nodes without shares, and why it is not known how many they are.
        """
        reserved = self.plans[pool].reserved
        if reserved is None:
            said = f"{pool}: how many instances its reservation has is not known; give "
            idle = PaidNodes(pool, instance_type, Fraction(0), None, {}, {}, is_there=False)
            return [idle], [f"{said}reservation.instances."]
        if reserved <= there:
            return [], []
        rest = reserved - Fraction(there)
        return [PaidNodes(pool, instance_type, rest, price, {}, {}, is_there=False)], []

    def _shares(self, pool: str, instance_type: str) -> Sequence[Share]:
        plan = self.plans[pool]
        if instance_type in plan.shares:
            return plan.shares[instance_type]
        found = self._catalog.find(instance_type)
        if found is None or not found.gpu_count:
            return ()
        try:
            return resources.shares(plan.pool, found, self._catalog)
        except (KeyError, LayoutError):  # its GPUs cannot be divided so
            return ()

    def _weight(self, share: Share, pool: str) -> Fraction:
        if self._split == "share":
            return Fraction(share.of_node).limit_denominator(_FINEST)
        if not share.memory_mib:
            raise SplitError(
                f"{pool}: how much memory {share.resource} has is not known, so its price cannot "
                "be divided by memory. Use --split share."
            )
        return Fraction(share.memory_mib)


def _scheduled(plan: PoolPlan) -> Fraction:
    """Nodes that are kept besides in some hours of a week, on average over it."""
    if plan.scaling is None or not plan.scaling.scheduled:
        return Fraction(0)
    hours = Fraction(plan.scaling.hours_per_week).limit_denominator(_FINEST)
    return plan.scaling.scheduled * hours / _HOURS_PER_WEEK
