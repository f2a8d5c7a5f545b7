"""A run on the lab in a terminal."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eks_gpushare_lab.reporting.report import RunReport, counts_of, shares_of
from eks_gpushare_lab.reporting.scaling_table import print_scaling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.nvidia.holding import Held
    from eks_gpushare_lab.reporting.report import Counts, NodeShares
    from eks_gpushare_lab.session import Session

_WIDTH_OF_A_LOG = 120
_BETWEEN_SECONDS = 0.25
_COLOURS = {"error": "bold red", "warning": "bold yellow", "info": "cyan"}


def make_console() -> Console:
    """A console of this terminal, or of a log of some width."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return Console(highlight=False, width=_WIDTH_OF_A_LOG)
    return console


def live(console: Console, session: Session) -> tuple[Live, Callable[[], None]]:
    """A table that follows the lab, and what to call for it to look again."""
    shown = Live(console=console, auto_refresh=False, transient=True)
    last = 0.0

    def show() -> None:
        nonlocal last
        if time.monotonic() - last >= _BETWEEN_SECONDS:
            last = time.monotonic()
            now = (shares_of(session), counts_of(session, reasons=False))
            shown.update(Group(_nodes(now[0]), _workloads(now[1])), refresh=True)

    return shown, show


def print_report(console: Console, report: RunReport) -> None:
    """Everything that a run found."""
    if report.engine is not None:
        console.print(_engine(report.engine))
    console.print(_nodes(report.nodes))
    console.print(_daemon_sets(report))
    if report.workloads:
        console.print(_workloads(report.workloads))
    for name, counts in report.workloads.items():
        if counts.scaled:
            console.print(f"{escape(name)} by its use: {_scaled(counts.scaled)}")
        if counts.reasons:
            console.print(Text(f"Why pods of {name} wait", style="bold"))
            console.print(_indented(Text(reason) for reason in counts.reasons))
    for name, tenant in report.tenants.items():
        console.print(Text(f"Tenant {name}: {', '.join(tenant.namespaces)}", style="bold"))
        console.print(_indented(map(Text, tenant.lines())))
    print_scaling(console, report)
    if report.held:
        console.print(_held(report.held))
    print_findings(console, report.findings)
    for unproven in report.unproven:
        console.print(Text(str(unproven)), soft_wrap=True)


def _scaled(steps: Sequence[tuple[float, int]]) -> str:
    """Numbers of pods over time, in a line."""
    first, *others = steps
    return ", ".join([str(first[1]), *(f"{n} after {at:.0f} s" for at, n in others)])


def print_findings(console: Console, found: Sequence[Finding]) -> None:
    """Findings: where, what, and what to do."""
    for finding in found:
        head = f"[{_COLOURS[finding.severity]}]{finding.severity}[/] {finding.code}"
        console.print(f"{head} at {escape(finding.path)}" if finding.path else head)
        console.print(_indented([Text(finding.message), Text(f"-> {finding.fix}")]))


def _engine(engine: Mapping[str, Any]) -> str:
    """What installed the stack, in a line."""
    done = ", ".join(f"{count} {change}" for change, count in engine["changes"].items())
    versions = f"pulumi {engine['pulumi']}, kubernetes provider {engine['kubernetesProvider']}"
    return f"Installed by {versions} in {engine['seconds']:.1f} s: {done or 'nothing changed'}"


def _indented(lines: Iterable[RenderableType]) -> Padding:
    return Padding(Group(*lines), (0, 0, 0, 4))


def _table(title: str, *columns: str) -> Table:
    """A table whose columns after the first blank one hold numbers."""
    table = Table(title=title, title_justify="left", header_style="bold", box=SIMPLE_HEAD)
    numbers = False
    for column in columns:
        if not column:
            numbers = True
            continue
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    return table


def _nodes(nodes: Sequence[NodeShares]) -> Table:
    columns = ("node", "pool", "resource", "", "declared", "advertised", "used", "free")
    table = _table("Shares", *columns)
    for node in nodes:
        head = [node.name, node.pool]
        for resource, numbers in _resources(node):
            style = "" if numbers[0] == numbers[1] else "bold red"
            table.add_row(*head, resource, *map(str, numbers), style=style)
            head = ["", ""]
    return table


def _resources(node: NodeShares) -> Iterator[tuple[str, tuple[int, ...]]]:
    free = node.free()
    for name in sorted(node.declared.keys() | node.advertised.keys()):
        counts = (node.declared, node.advertised, node.used, free)
        numbers = tuple(count.get(name, 0) for count in counts)
        if any(numbers):
            yield name, numbers


def _daemon_sets(report: RunReport) -> Table:
    table = _table("DaemonSets", "daemonset", "pool", "", "nodes", "desired", "ready")
    gpu_pools = report.pools
    for coverage in report.daemon_sets:
        name = coverage.name
        for pool, in_pool in coverage.pools.items():
            hidden = gpu_pools or any(each.desired for each in coverage.pools.values())
            if hidden and pool not in gpu_pools and not in_pool.desired:
                continue
            table.add_row(name, pool, *map(str, (in_pool.nodes, in_pool.desired, in_pool.ready)))
            name = ""
    return table


def _held(held: Sequence[Held]) -> Table:
    columns = ("node", "pool", "resource", "", "NVIDIA's plugin", "simulated", "labels compared")
    table = _table("Beside NVIDIA's own programs", *columns)
    for each in held:
        theirs, ours = each.resources or {}, each.simulated or {}
        labels = "-" if each.labels is None else str(each.compared)
        head = [each.node or "-", each.pool]
        for name in sorted(theirs.keys() | ours.keys()) or ["-"]:
            counts = ("-" if n is None else str(n) for n in (theirs.get(name), ours.get(name)))
            style = "bold red" if theirs.get(name) != ours.get(name) and each.differences else ""
            table.add_row(*head, name, *counts, labels, style=style)
            head, labels = ["", ""], ""
    return table


def _workloads(workloads: Mapping[str, Counts]) -> Table:
    table = _table("Workloads", "workload", "", "desired", "running", "pending", "peak")
    for name, counts in workloads.items():
        desired = "-" if counts.desired is None else str(counts.desired)
        numbers = map(str, (counts.running, counts.pending, counts.peak))
        table.add_row(name, desired, *numbers)
    return table
