"""What came and went of nodes, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eks_gpushare.cli.columns import money

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from eks_gpushare_lab.reporting.report import RunReport
    from eks_gpushare_lab.reporting.scaling import NodeReport, PoolReport

_CALLED = {"karpenter": "Karpenter", "clusterAutoscaler": "Cluster Autoscaler"}
_SHOWN = 20
"""Nodes of a pool that are listed; of more the first ones are."""


def print_scaling(console: Console, report: RunReport) -> None:
    """The nodes of pools that an autoscaler scales, what they cost, and why there are no more."""
    scaled = {name: pool for name, pool in report.pools.items() if pool.scaled_by}
    if any(pool.nodes for pool in scaled.values()):
        console.print(_table(scaled))
    for pool in scaled.values():
        _print(console, _summary(pool))
        for reason in pool.why_not:
            console.print(Padding(Text(reason), (0, 0, 0, 4)))
    for step in report.steps if scaled else ():
        asked = ", ".join(f"{name}={count}" for name, count in step.scaled.items())
        run = ", ".join(f"{count} pods of {name} run" for name, count in step.running.items())
        _print(console, f"Scaled to {asked}: {run or 'nothing runs'}; {_of_pools(step.nodes)}")
    if report.idle is not None:
        left = _of_pools(report.idle.nodes)
        after = report.idle.after
        when = "not in time" if after is None else f"{after:.1f} s after nothing was to run"
        _print(console, f"Idle {when}: {left} left")


def _table(pools: Mapping[str, PoolReport]) -> Table:
    table = Table(title="Nodes", title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    for column in ("pool", "node", "type", "bought"):
        table.add_column(column, overflow="fold")
    for column in ("launched", "ready", "removed", "$/hour"):
        table.add_column(column, justify="right")
    for name, pool in pools.items():
        head = name
        for node in pool.nodes[:_SHOWN]:
            table.add_row(head, *_cells(node))
            head = ""
        more = len(pool.nodes) - _SHOWN
        if more > 0:
            table.add_row("", f"and {more} more")
    return table


def _cells(node: NodeReport) -> Iterator[str]:
    yield from (node.name, node.instance_type, node.capacity_type)
    for seconds in (node.launched, node.ready, node.removed):
        yield "-" if seconds is None else f"{seconds:.1f} s"
    yield money(node.usd)


def _summary(pool: PoolReport) -> str:
    told = [
        f"{_nodes(len(pool.nodes))} launched by {_CALLED[pool.scaled_by]}",
        f"{pool.most} at once",
        f"{pool.least_possible} needed at least",
        f"{money(pool.usd)} $/hour",
    ]
    per_share = pool.usd_per_share()
    if per_share["advertised"] is not None:
        told.append(f"{money(per_share['advertised'])} a share")
    if per_share["used"] is not None:
        told.append(f"{money(per_share['used'])} a used one")
    return f"{pool.name}: {', '.join(told)}"


def _of_pools(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{_nodes(count)} of {name}" for name, count in counts.items())


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _print(console: Console, text: str) -> None:
    console.print(Text(text))
