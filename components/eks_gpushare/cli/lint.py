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
    from collections.abc import Iterable, Sequence

    from eks_gpushare.lint.files import GivenFile
    from eks_gpushare.lint.fixes import Fixed
    from eks_gpushare.lint.report import FileReport
    from eks_gpushare.lint.stack_side import Stack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lint`."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a folder with files, or - for standard input; given together, what one "
        "refers to is looked for in the others",
    )
    parser.add_argument(
        "--against",
        metavar="STACK",
        help="name of a stack, or its file: say whether the workloads will run on its pools",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="errors and warnings only")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="correct what is certain in the files, and show the difference",
    )
    parser.add_argument(
        "--diff", action="store_true", help="show what --fix would correct, and write nothing"
    )
    migration.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.to_stack:
        return migration.run(options)
    from eks_gpushare.lint.dispatch import lint_files
    from eks_gpushare.lint.files import given_files
    from eks_gpushare.lint.stack_side import StackUnusableError

    if options.fix and "-" in options.files:
        print("eks-gpushare: --fix writes files, and - is none; use --diff", file=sys.stderr)
        return WRONG_USAGE
    try:
        stack = _stack(options.against) if options.against else None
    except StackUnusableError as error:
        print(f"eks-gpushare: {error}", file=sys.stderr)
        return WRONG_USAGE
    files = given_files(options.files)
    if options.fix or options.diff:
        return _fix(options, files, stack)
    reports = lint_files(files, stack)
    _print(options, reports)
    return _code(reports)


def _stack(given: str) -> Stack:
    from eks_gpushare.lint.stack_side import read_stack, stack_file_of

    return read_stack(stack_file_of(given))


def _fix(options: argparse.Namespace, files: Iterable[GivenFile], stack: Stack | None) -> int:
    """Show what can be corrected, and with `--fix` write it."""
    from eks_gpushare.lint.fixes import fixed_files, write

    fixed, before, after = fixed_files(files, stack)
    written = options.fix and not options.diff
    reports = after if written else before
    _print(options, reports, fixed)
    if written:
        sys.stdout.flush()
        try:
            write(fixed)
        except OSError as error:
            print(f"eks-gpushare: not written: {error}", file=sys.stderr)
            return WRONG_USAGE
    return _code(reports)


def _print(
    options: argparse.Namespace, reports: Sequence[FileReport], fixed: Sequence[Fixed] = ()
) -> None:
    if options.json:
        diffs = {each.file: each for each in fixed}
        print_json({"files": [_as_json(each, diffs.get(each.file)) for each in reports]})
        return
    for each in fixed:
        sys.stdout.write(each.diff())
    for report in reports:
        _print_one(report, quiet=options.quiet)


def _as_json(report: FileReport, fixed: Fixed | None) -> dict[str, object]:
    more = {"fixes": fixed.count, "diff": fixed.diff()} if fixed else {}
    return {**report.as_json(), **more}


def _print_one(report: FileReport, *, quiet: bool) -> None:
    shown = [each for each in report.found if not quiet or each.finding.severity != "info"]
    verdict = "ok" if report.ok else "refused"
    sys.stdout.write(f"{printable(report.file)}: {verdict}{counted(report.findings)}\n")
    print_findings([(each.position, each.finding) for each in shown], sys.stdout)


def _code(reports: Sequence[FileReport]) -> int:
    if not all(report.readable for report in reports):
        return WRONG_USAGE
    return FINE if all(report.ok for report in reports) else FOUND
