"""`eks-gpushare check FILE...`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE
from eks_gpushare.cli.outputs import (
    OutputUsageError,
    add_output_argument,
    outputs_of,
    write_outputs,
)
from eks_gpushare.cli.silenced import print_silenced
from eks_gpushare.findings.text import counted, print_findings, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.reports.report import Report
    from eks_gpushare.stack_file.check import StackReport
    from eks_gpushare.stack_file.silencing import SilencedReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `check`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a stack file")
    parser.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only")
    parser.add_argument(
        "--no-files",
        action="store_true",
        help="do not look at the kubeconfigs and charts that the stack files name",
    )
    add_output_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    try:
        outputs = outputs_of(options)
    except OutputUsageError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    # Looking for pydantic's plugins reads the metadata of everything installed beside it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from eks_gpushare.findings.silenced import today
    from eks_gpushare.stack_file.check import check_file  # --help needs no pydantic
    from eks_gpushare.stack_file.silencing import silenced

    found = [check_file(file, local_files=not options.no_files) for file in options.files]
    reports = [silenced(checked, today()) for checked in found]
    written = write_outputs(
        outputs,
        text=lambda: _print_all(reports, quiet=options.quiet),
        document=lambda: {"files": [report.as_json() for report in reports]},
        reports=lambda: [_report(reports, quiet=options.quiet)],
    )
    if not written or not all(checked.readable for checked in found):
        return WRONG_USAGE
    return FINE if all(report.report.ok for report in reports) else FOUND


def _report(reports: Sequence[SilencedReport], *, quiet: bool) -> Report:
    from eks_gpushare.findings.silenced import FAULTY_SILENCE, FOR_NOTHING, OVER
    from eks_gpushare.reports.findings import Located, report_of
    from eks_gpushare.rules import all_rules, defect_rules

    found = [
        Located(finding, report.report.file, report.report.line_of(finding))
        for report in reports
        for finding in _shown(report.report, quiet=quiet)
    ]
    away = [
        (Located(one.finding, report.report.file, one.line), str(one.silence))
        for report in reports
        for one in report.away
    ]
    every = (*all_rules(), *defect_rules(), FAULTY_SILENCE, OVER, FOR_NOTHING)
    rules = {rule.id: rule for rule in every}
    readable = all(report.report.readable for report in reports)
    files = [report.report.file for report in reports]
    return report_of("check", files, found, rules, silenced=away, ended=readable)


def _shown(report: StackReport, *, quiet: bool) -> list[Finding]:
    return [f for f in report.findings if not quiet or f.severity != "info"]


def _print_all(reports: Sequence[SilencedReport], *, quiet: bool) -> None:
    for report in reports:
        _print(report, quiet=quiet)


def print_report(report: StackReport, out: TextIO, *, quiet: bool = True, more: str = "") -> None:
    """What is wrong with a stack file, as every verb that takes one says it.

    Args:
        report: What was found.
        out: Where to.
        quiet: Without notes, which are counted all the same.
        more: What else is counted.
    """
    verdict = "ok" if report.ok else "refused"
    out.write(f"{printable(report.file)}: {verdict}{counted(report.findings)}{more}\n")
    print_findings([(report.line_of(f), f) for f in _shown(report, quiet=quiet)], out)


def _print(silenced: SilencedReport, *, quiet: bool) -> None:
    away = f", {len(silenced.away)} silenced" if silenced.away else ""
    print_report(silenced.report, sys.stdout, quiet=quiet, more=away)
    if not quiet:
        print_silenced((one.line, one.finding.code, one.silence) for one in silenced.away)
