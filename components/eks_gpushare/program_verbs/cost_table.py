"""The cost of a whole stack as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.cli.columns import Table, money
from eks_gpushare.findings.text import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADINGS = [
    "",
    "count\ndesired/max",
    "at desired\n$/hour",
    "\n$/month",
    "at max\n$/hour",
    "\n$/month",
]


def cost_lines(cost: Mapping[str, Any], width: int) -> list[str]:
    """What a stack costs by the hour and month, in lines of at most this width."""
    if not cost["items"]:
        return []
    table = Table(_HEADINGS)
    for item in cost["items"]:
        table.rows.append([item["description"], _count(item["count"]), *_money(item)])
    table.rows += [[], ["total", "", *_money(cost)]]
    if cost["unknown"]:
        known = {"usdPerHour": cost["knownUsdPerHour"], "usdPerMonth": cost["knownUsdPerMonth"]}
        table.rows.append(["of it known", "", *_money(known)])
    where = f" in {cost['region']}" if cost["region"] else ""
    said = [
        *cost["unknown"],
        (
            f"On-demand list prices{where}, for months of {cost['hoursPerMonth']} hours, before "
            "taxes and discounts."
        ),
    ]
    if cost["notIncluded"]:
        said.append(f"Not included: {', '.join(cost['notIncluded'])}.")
    notes = [line for text in said for line in wrapped(text, width)]
    return ["Cost in USD", *table.lines(width), "", *notes]


def _count(count: Mapping[str, int | None]) -> str:
    desired, most = ("?" if n is None else n for n in (count["atDesired"], count["atMax"]))
    return str(desired) if desired == most else f"{desired}/{most}"


def _money(item: Mapping[str, Any]) -> list[str]:
    hour, month = item["usdPerHour"], item["usdPerMonth"]
    return [money(by[at]) for at in ("atDesired", "atMax") for by in (hour, month)]
