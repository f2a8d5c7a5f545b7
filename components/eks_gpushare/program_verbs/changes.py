"""What an edit means for the users of pools and for the bill, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program_verbs.columns import Table, money, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.edits.pools import PoolChange
    from eks_gpushare.program.preview import Preview

_HEADINGS = ["shares and nodes", "per node\nbefore", "\nafter", "at desired\nbefore", "\nafter"]
_BILL = ["cost in USD", "$/hour\nbefore", "\nafter", "$/month\nbefore", "\nafter"]
_UNITS = ("Hour", "Month")
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
    lines += _bill(previewed, width)
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
    yield ["  nodes", "", "", *(str(pool.get("nodes", {}).get("desired", "")) for pool in pools)]


def _per_node(pool: Mapping[str, Any], name: str) -> str:
    """The count of a resource on a node; of types that differ, the least and the most."""
    counts = sorted({node.get(name, 0) for node in pool.get("perNode", {}).values()})
    known = any(name in node for node in pool.get("perNode", {}).values())
    if not known:
        return ""
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _bill(previewed: Preview, width: int) -> list[str]:
    before, after = previewed.earlier_cost, previewed.cost
    if before is None or after is None:
        return []
    costs = [before.as_json(), after.as_json()]
    unknown = [*before.unknown(), *after.unknown()]
    table = Table(_BILL)
    for name, of in (("usdPer", "the stack"), ("knownUsdPer", "of it known")):
        if name == "usdPer" or unknown:
            for key, words in (("atDesired", "at the desired size"), ("atMax", "at most")):
                dollars = [money(c[f"{name}{unit}"][key]) for unit in _UNITS for c in costs]
                table.rows.append([f"{of} {words}", *dollars])
    notes = [line for text in dict.fromkeys(unknown) for line in wrapped(text, width)]
    return ["", *table.lines(width), *notes]
