"""What an edit does to the bill: the lines of two costs that differ, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.costs.items import Count, added, per_month

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.program.costs.items import CostItem
    from eks_gpushare.program.costs.stack import StackCost

_NOTHING: Count[float | None] = Count(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ItemChange:
    """A line of the bill that comes, goes, or is another."""

    kind: str
    """What it is of, as `CostItem.kind`."""
    name: str
    """Which one, as `CostItem.name`."""
    words: str
    """What it is, for people; as it is to become, unless it goes."""
    before: Count[float | None]
    """USD per hour as it is; 0 where it is not there, None where a price is unknown."""
    after: Count[float | None]
    """USD per hour as it is to become."""

    def usd_per_hour(self) -> Count[float | None]:
        """By how much it becomes dearer; None where one of both is unknown."""
        before, after = self.before, self.after
        return Count(
            _difference(before.at_desired, after.at_desired),
            _difference(before.at_max, after.at_max),
        )

    def as_json(self) -> dict[str, Any]:
        """The change as `preview --before --json` prints it."""
        return {
            "item": self.kind,
            "name": self.name or None,
            "description": self.words,
            "usdPerHour": {"before": self.before.as_json(), "after": self.after.as_json()},
        }


@dataclass(frozen=True, slots=True)
class CostChange:
    """What a stack costs before and after an edit."""

    before: StackCost
    """The bill as it is."""
    after: StackCost
    """The bill as it is to become."""

    def items(self) -> list[ItemChange]:
        """The lines that differ, in the order of the bill, and those that go last.

        A line whose price is unknown before and after differs where something else of it does: how
        many there are, or of which types.
        """
        lines = _by_line(self.before.items), _by_line(self.after.items)
        return [
            ItemChange(*line, (after or before)[0].words, _cost(before), _cost(after))
            for line in dict.fromkeys([*lines[1], *lines[0]])
            if _told(before := lines[0].get(line, [])) != _told(after := lines[1].get(line, []))
        ]

    def usd_per_hour(self) -> Count[float | None]:
        """By how much the stack becomes dearer; None where that hangs on an unknown price.

        What is unknown and stays as it is takes nothing from what is known of the difference.
        """
        changes = [item.usd_per_hour() for item in self.items()]
        return Count(added(c.at_desired for c in changes), added(c.at_max for c in changes))

    def as_json(self) -> dict[str, Any]:
        """The change as `preview --before --json` prints it."""
        dearer = self.usd_per_hour()
        return {
            "usdPerHour": dearer.as_json(),
            "usdPerMonth": per_month(dearer).as_json(),
            "items": [item.as_json() for item in self.items()],
        }


def _by_line(items: Iterable[CostItem]) -> dict[tuple[str, str], list[CostItem]]:
    """Items by what they are and which; of volumes there is one for each region."""
    found: dict[tuple[str, str], list[CostItem]] = {}
    for item in items:
        found.setdefault((item.kind, item.name), []).append(item)
    return found


def _cost(items: list[CostItem]) -> Count[float | None]:
    costs = [item.usd_per_hour() for item in items]
    return Count(added(c.at_desired for c in costs), added(c.at_max for c in costs))


def _told(items: list[CostItem]) -> object:
    """What two lines are compared by."""
    cost = _cost(items)
    if cost == _NOTHING:
        return _NOTHING
    known = None not in {cost.at_desired, cost.at_max}
    return cost if known else [(item.words, item.count, item.price) for item in items]


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else round(after - before, 6)
