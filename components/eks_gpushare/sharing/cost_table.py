"""What nodes cost by tenant, pool or namespace, in amounts that add up however they are grouped."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from eks_gpushare.catalog.service_prices import HOURS_PER_MONTH
from eks_gpushare.sharing.apportion import apportioned
from eks_gpushare.sharing.cost_split import USES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.sharing.cost_split import CostLine, PaidNodes, Use
    from eks_gpushare.sharing.paid_nodes import SplitBy

GroupBy: TypeAlias = Literal["tenant", "pool", "namespace"]
GROUPS: tuple[GroupBy, ...] = ("tenant", "pool", "namespace")
"""What costs are added up by."""
_HOURLY, _MONTHLY = 10_000, 100
"""Units of a dollar: hours are told in hundredths of a cent, months in cents."""


class CostSource(NamedTuple):
    """By what it is known who has what."""

    kind: str
    """declared, cluster or usage."""
    whence: str
    """The cluster or file; empty of what is declared."""
    start: str
    """When; empty of what is declared."""
    end: str

    def as_json(self) -> dict[str, str | None]:
        """As `cost --json` prints it."""
        return {
            "by": self.kind,
            "from": self.whence or None,
            "start": self.start or None,
            "end": self.end or None,
        }


class Usd(NamedTuple):
    """Dollars in whole units, so that they add up."""

    hour: int = 0
    """Hundredths of a cent in an hour."""
    month: int = 0
    """Cents in a month."""
    is_known: bool = True
    """Whether all that they are of has a known price; else there is more."""

    def plus(self, other: Usd) -> Usd:
        """Both together."""
        both = self.is_known and other.is_known
        return Usd(self.hour + other.hour, self.month + other.month, both)

    def as_json(self) -> dict[str, float | None]:
        """As `cost --json` prints it: null where a price is unknown."""
        known = self.is_known
        return {
            "usdPerHour": self.hour / _HOURLY if known else None,
            "usdPerMonth": self.month / _MONTHLY if known else None,
        }

    def as_text(self) -> tuple[str, str]:
        """Dollars per hour and per month for people."""
        if not self.is_known:
            return "unknown", "unknown"
        return f"{self.hour / _HOURLY:,.4f}", f"{self.month / _MONTHLY:,.2f}"


class PricedLine(NamedTuple):
    """A line with its amount."""

    line: CostLine
    usd: Usd


@dataclass(frozen=True, slots=True)
class CostTable:
    """What the nodes of a stack cost, and whose it is."""

    nodes: tuple[PaidNodes, ...]
    lines: tuple[PricedLine, ...]
    """All there are, the pools in the order of the stack."""
    split: SplitBy
    centers: Mapping[str, str] = field(default_factory=dict)
    """Cost centres by tenant."""
    unknown: tuple[str, ...] = ()
    """Why prices are unknown, a sentence each."""
    notes: tuple[str, ...] = ()
    """What is not counted, or not as one would think."""

    def total(self) -> Usd:
        """All lines together."""
        return added(self.lines)

    def by(self, group: GroupBy) -> dict[str | None, dict[Use, Usd]]:
        """Amounts by one column of the lines, and by use; None is what has none there.

        By namespace what no pod holds is None, whoever is sure of it.
        """
        found: dict[str | None, list[PricedLine]] = defaultdict(list)
        for each in self.lines:
            found[getattr(each.line, group)].append(each)
        named = [name for name in found if name is not None]
        order = [*named, *([None] if None in found else [])]
        return {
            name: {use: added(x for x in found[name] if x.line.use == use) for use in USES}
            for name in order
        }

    def as_json(self, group: GroupBy) -> dict[str, Any]:
        """The document of `cost --json`, but for what it is of."""
        total = self.total()
        return {
            "split": self.split,
            "hoursPerMonth": HOURS_PER_MONTH,
            **total.as_json(),
            "knownUsdPerHour": total.hour / _HOURLY,
            "knownUsdPerMonth": total.month / _MONTHLY,
            "pools": {
                pool: {
                    "nodes": [_node_json(each) for each in self.nodes if each.pool == pool],
                    **added(x for x in self.lines if x.line.pool == pool).as_json(),
                }
                for pool in dict.fromkeys(each.pool for each in self.nodes)
            },
            "by": group,
            "rows": [
                {
                    group: name,
                    **({"costCenter": self.centers.get(name or "")} if group == "tenant" else {}),
                    **together(uses).as_json(),
                    **{use: usd.as_json() for use, usd in uses.items()},
                }
                for name, uses in self.by(group).items()
            ],
            "lines": [
                {
                    "tenant": line.tenant,
                    "costCenter": self.centers.get(line.tenant or ""),
                    "namespace": line.namespace,
                    "pool": line.pool,
                    "resource": line.resource,
                    "use": line.use,
                    "shares": float(line.shares),
                    **usd.as_json(),
                }
                for line, usd in self.lines
            ],
            "unknown": list(self.unknown),
            "notes": list(self.notes),
        }


def priced(lines: Sequence[CostLine]) -> tuple[PricedLine, ...]:
    """Lines with amounts in whole units.

    Rounding is done once and here: first of all nodes together, then of the pools, then of the
    lines of each, by the largest remainder. So whatever lines are added up, and however, the sum of
    all is what the nodes cost.

    Args:
        lines: All lines, with exact amounts.
    """
    hours, months = _units(lines, 1, _HOURLY), _units(lines, HOURS_PER_MONTH, _MONTHLY)
    return tuple(
        PricedLine(line, Usd(hour, month, line.is_known))
        for line, hour, month in zip(lines, hours, months, strict=True)
    )


def added(lines: Iterable[PricedLine]) -> Usd:
    """What lines are together."""
    total = Usd()
    for _, usd in lines:
        total = total.plus(usd)
    return total


def together(uses: Mapping[Use, Usd]) -> Usd:
    """Amounts of all uses."""
    total = Usd()
    for usd in uses.values():
        total = total.plus(usd)
    return total


def _units(lines: Sequence[CostLine], hours: int, units: int) -> list[int]:
    by_pool: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        by_pool.setdefault(line.pool, []).append(at)
    exact = [line.usd * hours * units for line in lines]
    pools = [sum((exact[at] for at in places), Fraction(0)) for places in by_pool.values()]
    found = [0] * len(lines)
    of_pools = apportioned(round(sum(pools)), pools)
    for total, places in zip(of_pools, by_pool.values(), strict=True):
        parts = apportioned(total, [exact[at] for at in places])
        for at, part in zip(places, parts, strict=True):
            found[at] = part
    return found


def _node_json(nodes: PaidNodes) -> dict[str, Any]:
    return {
        "instanceType": nodes.instance_type,
        "count": float(nodes.number),
        "usdPerHourEach": None if nodes.price is None else float(nodes.price),
        "shares": {name: float(shares) for name, shares in nodes.offered.items()},
        "usdPerShareHour": {
            name: None if nodes.price is None else round(float(nodes.price * part), 6)
            for name, part in nodes.parts.items()
        },
    }
