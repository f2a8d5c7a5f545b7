"""A preview as text in a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.text import Text

from eks_gpushare.cli.measured_lines import measured_lines
from eks_gpushare.cli.tenant_lines import matrix_lines, tenant_lines
from eks_gpushare.findings.text import counted, print_findings, wrapped
from eks_gpushare.program_verbs.changes import change_lines
from eks_gpushare.program_verbs.cost_table import cost_lines
from eks_gpushare.program_verbs.pods import node_commands, pods_text
from eks_gpushare.program_verbs.pool_table import pool_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.program.preview import Preview

_WIDTH_OF_A_FILE = 80
"""Columns of tables that go to no terminal: whoever reads a log has at least so many."""


def print_preview(previewed: Preview, *, same: str, quiet: bool) -> None:
    """Resources as a tree, pools, pods, cost, findings, and what an edit does.

    Args:
        previewed: The stack as it would be.
        same: What names this stack to other commands, as it was given to this one.
        quiet: Pools, cost, errors and warnings only, and what an edit does where that was asked.
    """
    recording = previewed.recording
    ran = recording is not None and recording.error is None
    width = _width()
    if recording is not None and ran:
        if not quiet:
            from eks_gpushare.program_verbs.tree import print_tree

            print_tree(previewed.stack, recording)
            print()
        _print_pools(previewed, width, quiet=quiet)
        _print_edits(previewed, width)
    print_what_is_wrong(previewed, sys.stdout, quiet=quiet)
    if previewed.ok and not quiet:
        _print_next(previewed, same, width)


def print_what_is_wrong(previewed: Preview, out: TextIO, *, quiet: bool = False) -> None:
    """The findings, and why the program stopped.

    Args:
        previewed: The stack.
        out: Where to print the findings.
        quiet: Count notes, and show none.
    """
    findings, report = list(previewed.findings), previewed.report
    if findings:
        out.write(f"Findings in {report.file}{counted(findings)}\n")
        shown = [f for f in findings if not quiet or f.severity != "info"]
        print_findings([(report.line_of(f), f) for f in shown], out)
    recording = previewed.recording
    if recording is not None and recording.error is not None:
        print(f"\nThe program stopped.\n{recording.error}", file=sys.stderr)


def _width() -> int:
    console = Console()
    columns = os.environ.get("COLUMNS", "")
    known = console.is_terminal or (columns.isascii() and columns.isdecimal())
    return max(console.width, 1) if known else _WIDTH_OF_A_FILE


def _print_pools(previewed: Preview, width: int, *, quiet: bool) -> None:
    pools = previewed.pools
    if pools:
        _titled(pool_lines(pools, width))
    if pools and not quiet:
        _titled(["Pods, to paste", *pods_text(pools).rstrip().split("\n")])
        if commands := list(node_commands(pools)):
            _titled(["Nodes that somebody else makes", *commands])
    if previewed.tenants:
        _titled(tenant_lines(previewed.tenants, width))
        if len(previewed.tenants) > 1:
            _titled(matrix_lines(previewed.tenants, width))
    if previewed.measured:
        _titled(measured_lines(previewed.measured, width))
    if previewed.cost is not None:
        _titled(cost_lines(previewed.cost.as_json(), width))


def _titled(lines: Iterable[str]) -> None:
    """Lines under a title, which is the first, and a free line after them."""
    title, *rest = lines or [""]
    if title:
        Console(highlight=False).print(Text(title, style="bold"))
        sys.stdout.write("".join(f"{line}\n" for line in (*rest, "")))


def _print_edits(previewed: Preview, width: int) -> None:
    if previewed.edits is None:
        return
    longest = max((len(edit.effect) for edit in previewed.edits), default=0)
    lines = []
    for edit in previewed.edits:
        head = f"  {edit.effect:{max(8, longest)}} "
        lines += wrapped(edit.message, width, " " * len(head), head)
    _titled(["What the edit does to nodes", *(lines or ["  nothing"])])
    _titled(change_lines(previewed, width))


def _print_next(previewed: Preview, same: str, width: int) -> None:
    recording = previewed.recording
    print()
    for assumption in recording.assumptions if recording else []:
        _print_folded(f"assumed: {assumption}", width)
    _print_folded(
        "This is a plan of registrations: no provider has checked it, and nothing was compared "
        "with what is there.",
        width,
    )
    print(f"Go on with\n  eks-gpushare policy {same}\n  pulumi up --stack {previewed.stack}")


def _print_folded(text: str, width: int) -> None:
    print("\n".join(wrapped(text, width)))
