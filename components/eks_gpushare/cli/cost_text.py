"""What nodes cost, for people: what there is with its price, and whose it is."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.service_prices import HOURS_PER_MONTH
from eks_gpushare.cli.columns import Table
from eks_gpushare.findings.text import line_width, printable, wrapped
from eks_gpushare.sharing.cost_table import added, together
from eks_gpushare.sharing.tenants import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.sharing.cost_split import Use
    from eks_gpushare.sharing.cost_table import CostSource, CostTable, GroupBy

_NOBODY = {"tenant": "the platform", "namespace": "no pod", "pool": ""}
"""What the row is called that has no value in the column by which is added up."""
_USED: Final[Mapping[Use, str]] = {
    "used": "$/hour\nused",
    "guaranteed": "\nsure, unused",
    "idle": "\nidle",
}
_DECLARED: Final[Mapping[Use, str]] = {"guaranteed": "$/hour\nsure", "idle": "\nof nobody"}


def print_cost(
    table: CostTable, stack: str, region: str | None, source: CostSource, by: GroupBy
) -> None:
    """Print it.

    Args:
        table: What nodes cost.
        stack: The stack's file.
        region: Where it is.
        source: By what it is known who has what.
        by: What is added up.
    """
    width = line_width(sys.stdout)
    where = f" in {region}" if region else ""
    lines = wrapped(f"{stack}{where}: {_nodes(table, source)}", width)
    if table.nodes:
        lines += [
            "",
            *_priced(table, source).lines(width),
            "",
            *_grouped(table, source, by).lines(width),
        ]
    lines += ["", *_notes(table, width)]
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)


def _nodes(table: CostTable, source: CostSource) -> str:
    """What the tables are of."""
    if source.kind == "declared":
        return f"{'the GPU nodes' if table.nodes else 'no GPU node'} that it keeps"
    some = "its GPU nodes" if table.nodes else "no GPU node"
    if source.start == source.end:
        return f"{some} in {source.whence} at {source.start}"
    return f"{some} on average from {source.start} to {source.end}, by {source.whence}"


def _priced(table: CostTable, source: CostSource) -> Table:
    """Nodes and the kinds of shares on them, with how many are in which use."""
    uses = _DECLARED if source.kind == "declared" else _USED
    headings = [heading.rpartition("\n")[2] for heading in uses.values()]
    found = Table(["nodes and their shares", "count", *headings, "$/hour\neach", "\ntogether"])
    blanks = [""] * len(uses)
    for pool in dict.fromkeys(each.pool for each in table.nodes):
        nodes = [each for each in table.nodes if each.pool == pool]
        own = [x for x in table.lines if x.line.pool == pool]
        total = added(own).as_text()[0]
        for each in nodes:
            there = "" if each.is_there else ", reserved and not there"
            name = f"{pool}: {each.instance_type}{there}"
            cells = [name, _count(each.number), *blanks, _price([each.price])]
            found.rows.append([*cells, total if len(nodes) == 1 else ""])
        for resource in dict.fromkeys(name for each in nodes for name in each.parts):
            of_kind = [x for x in own if x.line.resource == resource]
            counts = [
                sum((x.line.shares for x in of_kind if x.line.use == use), Fraction(0))
                for use in uses
            ]
            prices = [
                None if each.price is None else each.price * each.parts[resource]
                for each in nodes
                if resource in each.parts
            ]
            number = _count(sum(counts, Fraction(0)))
            name = f"  {resource.removeprefix(PREFIX)}"
            cells = [name, number, *map(_count, counts), _price(prices)]
            found.rows.append([*cells, added(of_kind).as_text()[0]])
        rest = added(x for x in own if x.line.resource is None)
        if rest.hour or not rest.is_known:
            found.rows.append(["  no share", "", *blanks, "", rest.as_text()[0]])
        if len(nodes) > 1:
            found.rows.append(["  all", "", *blanks, "", total])
    return found


def _grouped(table: CostTable, source: CostSource, by: GroupBy) -> Table:
    """Whose it is."""
    uses = _DECLARED if source.kind == "declared" else _USED
    found = Table([f"by {by}", *uses.values(), "\ntotal", "$/month\ntotal"])
    for name, amounts in table.by(by).items():
        center = table.centers.get(name or "") if by == "tenant" else None
        called = _NOBODY[by] if name is None else name
        called += f" (cost centre {center})" if center else ""
        own = [amounts[use].as_text()[0] for use in uses]
        found.rows.append([called, *own, *together(amounts).as_text()])
    total = table.total()
    blanks = [""] * len(uses)
    found.rows += [[], ["total", *blanks, *total.as_text()]]
    if not total.is_known:
        found.rows.append(["of it known", *blanks, *total._replace(is_known=True).as_text()])
    return found


def _notes(table: CostTable, width: int) -> Iterator[str]:
    said = [
        *table.unknown,
        *table.notes,
        (
            f"On-demand list prices of GPU nodes alone, for months of {HOURS_PER_MONTH} hours, "
            "before taxes and discounts; what is around them is in eks-gpushare preview."
        ),
    ]
    for text in said:
        yield from wrapped(text, width)


def _count(count: Fraction) -> str:
    return f"{float(count):,.2f}".rstrip("0").rstrip(".")


def _price(prices: Sequence[Fraction | None]) -> str:
    """One price, or from which to which they go where those of types differ."""
    known = [usd for usd in prices if usd is not None]
    if len(known) < len(prices):
        return "unknown"
    ends = dict.fromkeys(f"{float(usd):,.4f}" for usd in (min(known), max(known)))
    return " to ".join(ends)
