"""One line of a stack's cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eks_gpushare.catalog.service_prices import HOURS_PER_MONTH

if TYPE_CHECKING:
    from collections.abc import Iterable

N_co = TypeVar("N_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Count(Generic[N_co]):
    """A number at the desired size of node groups, and at their largest."""

    at_desired: N_co
    at_max: N_co

    def as_json(self) -> dict[str, Any]:
        """Both numbers under the names that pools have."""
        return {"atDesired": self.at_desired, "atMax": self.at_max}


def per_month(usd_per_hour: Count[float | None]) -> Count[float | None]:
    """Of dollars per hour, those per month."""
    return Count(_month(usd_per_hour.at_desired), _month(usd_per_hour.at_max))


def added(costs: Iterable[float | None]) -> float | None:
    """Dollars together; None where one of them is unknown."""
    known = list(costs)
    return None if None in known else round(sum(cost or 0 for cost in known), 6)


def no_price(what: str, region: str | None) -> str:
    """That the price of something is unknown, as an item's `unknown` says it."""
    where = f"in {region}" if region else "without aws:region"
    return f"No price of {what} {where} is known."


def _month(per_hour: float | None) -> float | None:
    return None if per_hour is None else round(per_hour * HOURS_PER_MONTH, 2)


@dataclass(frozen=True, slots=True)
class CostItem:
    """So many of one thing, each at the same price."""

    kind: str
    """What it is, for programs: controlPlane, gpuNodes, scheduledNodes, systemNodes,
    reservedInstances, rootVolumes, claimedVolumes, natGateway, publicIpv4 or kmsKey."""
    name: str
    """Which one: the cluster, the node group, or the StorageClass; empty where all of a kind are
    one line."""
    words: str
    """What it is, for people."""
    count: Count[int | None]
    """How many; GiB of volumes. None where that is not known."""
    price: float | None
    """USD of one per hour, None where unknown."""
    source: str
    """Where the price is from, and of when."""
    unknown: str = ""
    """Why the price or the number is unknown."""
    part: float = 1.0
    """For what part of the time they are there."""

    def usd_per_hour(self) -> Count[float | None]:
        """What they cost together. None of something costs nothing, whatever its price."""
        return Count(self._of(self.count.at_desired), self._of(self.count.at_max))

    def _of(self, count: int | None) -> float | None:
        if count == 0:
            return 0.0
        if self.price is None or count is None:
            return None
        return round(count * self.price * self.part, 6)

    def as_json(self) -> dict[str, Any]:
        """The line as `preview --json` prints it."""
        cost = self.usd_per_hour()
        return {
            "item": self.kind,
            "name": self.name or None,
            "description": self.words,
            "count": self.count.as_json(),
            "usdPerHourEach": None if self.price is None else round(self.price, 8),
            "usdPerHour": cost.as_json(),
            "usdPerMonth": per_month(cost).as_json(),
            "source": self.source,
        }
