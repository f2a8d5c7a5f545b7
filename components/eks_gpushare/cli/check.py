"""`eks-gpushare check FILE...`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import counted, print_findings, printable

if TYPE_CHECKING:
    import argparse

    from eks_gpushare.stack_file.check import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `check`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a stack file")
    parser.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only")
    parser.add_argument(
        "--no-files",
        action="store_true",
        help="do not look at the kubeconfigs and charts that the stack files name",
    )


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    # Looking for pydantic's plugins reads the metadata of everything installed beside it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from eks_gpushare.stack_file.check import check_file  # --help needs no pydantic

    reports = [check_file(file, local_files=not options.no_files) for file in options.files]
    if options.json:
        print_json({"files": [report.as_json() for report in reports]})
    else:
        for report in reports:
            _print(report, quiet=options.quiet)
    if not all(report.readable for report in reports):
        return WRONG_USAGE
    return FINE if all(report.ok for report in reports) else FOUND


def _print(report: Report, *, quiet: bool) -> None:
    shown = [f for f in report.findings if not quiet or f.severity != "info"]
    verdict = "ok" if report.ok else "refused"
    sys.stdout.write(f"{printable(report.file)}: {verdict}{counted(report.findings)}\n")
    print_findings([(report.line_of(f), f) for f in shown], sys.stdout)
