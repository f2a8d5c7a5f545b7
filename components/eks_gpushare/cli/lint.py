"""`eks-gpushare lint FILE...`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE, migration
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import counted, print_findings, printable

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.lint.report import FileReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lint`."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a folder with files, or - for standard input; given together, what one "
        "refers to is looked for in the others",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only")
    migration.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.to_stack:
        return migration.run(options)
    from eks_gpushare.lint.dispatch import lint_files

    reports = lint_files(options.files)
    if options.json:
        print_json({"files": [report.as_json() for report in reports]})
    else:
        for report in reports:
            _print(report, quiet=options.quiet)
    if not all(report.readable for report in reports):
        return WRONG_USAGE
    return FINE if all(report.ok for report in reports) else FOUND


def _print(report: FileReport, *, quiet: bool) -> None:
    shown = [each for each in report.found if not quiet or each.finding.severity != "info"]
    verdict = "ok" if report.ok else "refused"
    sys.stdout.write(f"{printable(report.file)}: {verdict}{counted(report.findings)}\n")
    print_findings([(each.position, each.finding) for each in shown], sys.stdout)
