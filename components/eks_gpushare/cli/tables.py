"""A preview as tree and table in a terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.program.preview import Preview
    from eks_gpushare.program.recording import Recording, Resource

_WIDTH_OF_A_LOG = 120
_STACK_TYPE = "pulumi:pulumi:Stack"


def print_preview(previewed: Preview) -> None:
    """Resources as a tree, then the pools as a table."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_WIDTH_OF_A_LOG)
    recording = previewed.recording
    if recording is None:
        return
    console.print(_tree(previewed.stack, recording))
    if previewed.pools:
        console.print()
        console.print(_pools(previewed.pools))


def _tree(stack: str, recording: Recording) -> Tree:
    custom = sum(r.custom for r in recording.resources if r.type != _STACK_TYPE)
    root = Tree(Text(f"{stack}: {custom} resources", style="bold"))
    nodes: dict[str, Tree] = {}
    for resource in recording.resources:
        if resource.type == _STACK_TYPE:
            nodes[resource.urn] = root
        else:
            above = nodes.get(resource.parent, root)
            nodes[resource.urn] = above.add(_label(resource))
    return root


def _label(resource: Resource) -> Text:
    label = Text(resource.name, style="" if resource.custom else "bold")
    label.append(f"  {resource.type}", style="dim")
    for mark, shown in (("protected", resource.protect), ("assumed", resource.assumed)):
        if shown:
            label.append(f"  {mark}", style="yellow")
    return label


def _pools(pools: dict[str, Any]) -> Table:
    """One row per resource: numbers of their own columns fit where resource names would not."""
    table = Table(title="GPU pools", title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    for heading in ("pool", "instance type", "nodes\nmin/desired/max", "advertised as"):
        table.add_column(heading, overflow="fold", vertical="bottom")
    for heading in ("per\nnode", "at\ndesired", "at\nmax", "$/hour", "$/share\nand hour"):
        table.add_column(heading, justify="right", vertical="bottom")
    for name, pool in pools.items():
        for cells in _rows(name, pool):
            table.add_row(*cells)
    return table


def _rows(name: str, pool: dict[str, Any]) -> Iterator[list[str]]:
    nodes, cost = pool["nodes"], pool["usdPerHour"]
    head = [name, "", f"{nodes['min']}/{nodes['desired']}/{nodes['max']}"]
    money = _money(cost and cost["atDesired"], 2)
    prices = {share["resource"]: share["usdPerHour"] for share in pool["shares"]}
    for instance_type, advertised in pool["perNode"].items():
        head[1] = instance_type
        for resource, count in advertised.items():
            desired, most = (str(pool[at][resource]) for at in ("atDesired", "atMax"))
            price = _money(prices[resource], 4) if resource in prices else ""
            yield [*head, resource, str(count), desired, most, money, price]
            head, money = ["", "", ""], ""


def _money(amount: float | None, places: int) -> str:
    return "unknown" if amount is None else f"{amount:.{places}f}"
