"""`eks-gpushare lint --to-stack FILE...`: a stack file of what was understood."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.streams import print_json
from eks_gpushare.documents.reading import reason
from eks_gpushare.findings.text import printable

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.lint.migration.migrate import Migration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lint` that are about migration."""
    parser.add_argument(
        "--to-stack",
        action="store_true",
        help="write a stack file of what was understood, and list what was not taken over",
    )
    parser.add_argument(
        "--new",
        action="store_true",
        help="with --to-stack: declare a new cluster (default: put the pools on the existing one)",
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="with --to-stack: where to (default: standard output)"
    )


def run(options: argparse.Namespace) -> int:
    """Make the stack file, write it, and say what it lacks."""
    from eks_gpushare.lint.dispatch import read_files
    from eks_gpushare.lint.migration.migrate import migrate
    from eks_gpushare.manifests.files import given_files

    reading = read_files(given_files(options.files, ignored=options.no_respect_gitignore))
    unread = [report for report in reading.reports() if not report.readable]
    for each in unread:
        for found in each.found:
            sys.stderr.write(f"{printable(each.file)}: {printable(found.finding.message)}\n")
    made = migrate(reading.items, classes=reading.classes, new=options.new)
    written = None
    if made.text and options.out is not None:
        try:
            # Never over a file that is there: it may be a stack's.
            with Path(options.out).open("x", encoding="utf-8") as file:
                file.write(made.text)
        except OSError as error:
            sys.stderr.write(f"eks-gpushare: {printable(options.out)}: {reason(error)}\n")
            return WRONG_USAGE
        written = options.out
    if options.json:
        print_json(_json(made, written))
    else:
        if written is None:
            sys.stdout.write(made.text)
        _say(made, written)
    if unread or made.report is None:
        return WRONG_USAGE
    return FINE if made.report.ok else FOUND


def _json(made: Migration, written: str | None) -> dict[str, object]:
    findings = made.report.findings if made.report is not None else ()
    return {
        "stackFile": made.text or None,
        "written": written,
        "ok": made.report is not None and made.report.ok,
        "notTaken": [rest.as_json() for rest in made.left],
        "findings": [finding.as_json() for finding in findings],
    }


def _say(made: Migration, written: str | None) -> None:
    """What was not taken over and what `check` says, to standard error."""
    err = sys.stderr
    if made.report is None:
        err.write("eks-gpushare: no nodes with GPUs were found in the files\n")
    if written is not None:
        err.write(f"{printable(written)}: written\n")
    if made.left:
        err.write("Not taken over:\n")
    for rest in made.left:
        place = f"{rest.file}:{rest.position.line}" if rest.file else "-"
        err.write(printable(f"  {place}: {rest.what}. {rest.why}") + "\n")
    for found in made.report.findings if made.report is not None else ():
        err.write(printable(f"{found}") + "\n")
