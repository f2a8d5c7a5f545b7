"""What an edit means for the users of pools and for the bill, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.cli.columns import Table, money
from eks_gpushare.findings.text import wrapped
from eks_gpushare.program.costs.items import per_month

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.costs.change import CostChange
    from eks_gpushare.program.costs.items import Count
    from eks_gpushare.program.edits.pools import PoolChange
    from eks_gpushare.program.preview import Preview

_HEADINGS = ["shares and nodes", "per node\nbefore", "\nafter", "at desired\nbefore", "\nafter"]
_BILL = ["cost in USD", "$/hour\nbefore", "\nafter", "\nchange", "$/month\nchange"]
_ALIKE = "-"
"""A difference that is none."""
_SAID = {"added": "new", "removed": "goes", "changed": "changes"}


def change_lines(previewed: Preview, width: int) -> list[str]:
    """What users of the pools meet, and what the stack costs before and after."""
    lines: list[str] = []
    changes = previewed.pool_changes
    if changes:
        table = Table(_HEADINGS)
        for change in changes:
            table.rows.append([f"{change.pool} {_SAID[change.change]}: {_cost(change)}"])
            table.rows += list(_rows(change))
        lines += table.lines(width)
        for change in changes:
            for text in change.to_do:
                lines += ["", *wrapped(text, width)]
    lines += _bill(previewed.cost_change, width)
    return ["What users of the pools meet", *(lines or ["  nothing"])]


def _cost(change: PoolChange) -> str:
    prices = [_price(pool) for pool in (change.before, change.after)]
    if prices[0] is None:
        return f"{prices[1]} $/hour at desired"
    if prices[1] is None:
        return f"{prices[0]} $/hour at desired"
    if prices[0] == prices[1]:
        return f"{prices[0]} $/hour at desired, as before"
    return f"{prices[0]} $/hour at desired before, {prices[1]} after"


def _price(pool: Mapping[str, Any] | None) -> str | None:
    if pool is None:
        return None
    cost = pool["usdPerHour"]
    return money(cost and cost["atDesired"])


def _rows(change: PoolChange) -> Iterator[list[str]]:
    pools = [change.before or {}, change.after or {}]
    names = dict.fromkeys(name for pool in pools for name in pool.get("atDesired", {}))
    for name in names:
        node = [_per_node(pool, name) for pool in pools]
        desired = [str(pool.get("atDesired", {}).get(name, "")) for pool in pools]
        yield [f"  {name}", *node, *desired]
    yield ["  nodes", "", "", *map(_kept, pools)]


def _kept(pool: Mapping[str, Any]) -> str:
    """The nodes that there are when no pod asks for one, with those of a warm room."""
    if not pool:
        return ""
    desired, scaling = pool["nodes"]["desired"], pool.get("scaling")
    least = scaling["min"]["nodes"] if scaling else 0
    return str(desired if desired is None else max(desired, least))


def _per_node(pool: Mapping[str, Any], name: str) -> str:
    """The count of a resource on a node; of types that differ, the least and the most."""
    counts = sorted({node.get(name, 0) for node in pool.get("perNode", {}).values()})
    known = any(name in node for node in pool.get("perNode", {}).values())
    if not known:
        return ""
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _bill(change: CostChange | None, width: int) -> list[str]:
    """The lines of the bill that differ, the whole before and after, and why a price is unknown."""
    if change is None:
        return []
    items, dearer = change.items(), change.usd_per_hour()
    before, after = change.before, change.after
    table = Table(_BILL)
    for item in items:
        rows = _dollars(item.words, item.before, item.after, item.usd_per_hour())
        table.rows += [row for row in rows if row[-1] != _ALIKE]
    table.rows += [[]] if items else []
    table.rows += _dollars("the stack", before.total(), after.total(), dearer)
    unknown = dict.fromkeys((*before.unknown(), *after.unknown()))
    if unknown:
        table.rows += _dollars("of it known", before.known(), after.known())
    notes = [line for text in unknown for line in wrapped(text, width)]
    return ["", *table.lines(width), *notes]


def _dollars(
    words: str,
    before: Count[float | None],
    after: Count[float | None],
    dearer: Count[float | None] | None = None,
) -> Iterator[list[str]]:
    """A row for the desired size, and one for the most."""
    monthly = dearer and per_month(dearer)
    for key, size in (("at_desired", "at the desired size"), ("at_max", "at most")):
        change = [_signed(getattr(of, key)) if of else "" for of in (dearer, monthly)]
        yield [f"{words} {size}", money(getattr(before, key)), money(getattr(after, key)), *change]


def _signed(amount: float | None) -> str:
    """A difference, with its sign."""
    if amount == 0:
        return _ALIKE
    return f"+{money(amount)}" if amount is not None and amount > 0 else money(amount)
