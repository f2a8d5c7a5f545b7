"""`eks-gpushare lint FILE...`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE, lint_options, migration
from eks_gpushare.cli.lint_text import print_reports, shown
from eks_gpushare.cli.linting import linted
from eks_gpushare.cli.outputs import (
    OutputUsageError,
    add_output_argument,
    outputs_of,
    wants_text,
    write_outputs,
)
from eks_gpushare.cli.streams import print_json
from eks_gpushare.documents.reading import reason
from eks_gpushare.findings.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eks_gpushare.cli.linting import Found
    from eks_gpushare.cli.outputs import Output
    from eks_gpushare.lint.baseline import Baseline, Gone
    from eks_gpushare.lint.fixes import Fixed
    from eks_gpushare.lint.report import FileReport, Placed
    from eks_gpushare.lint.settings import LintSettings
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.reports.report import Report

_TOLD = 5
"""Entries of a baseline that are told as gone, before the rest is counted."""


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
    parser.add_argument(
        "--together",
        action="store_true",
        help="take all files for those of one cluster, wherever they lie",
    )
    parser.add_argument(
        "--explain-scopes",
        action="store_true",
        help="show which files are taken for those of one cluster and why, and check nothing",
    )
    parser.add_argument(
        "--max",
        metavar="N",
        type=_number,
        help="most findings that the text shows, the worst first; 0 shows all, each by itself "
        "(default: all, those of one cause together)",
    )
    parser.add_argument(
        "--no-respect-gitignore",
        action="store_true",
        help="read what git ignores too; what is named is read in any case",
    )
    add_output_argument(parser)
    lint_options.add_arguments(parser)
    migration.add_arguments(parser)


def _number(given: str) -> int:
    if not given.isascii() or not given.isdecimal():
        raise argparse.ArgumentTypeError(f"{given!r} is not a number such as 50")
    return int(given)


def run(options: argparse.Namespace) -> int:
    """Check the files and print what was found."""
    try:
        outputs = outputs_of(options)
    except OutputUsageError as error:
        return _wrong_usage(str(error))
    if options.fix and not options.diff and "-" in options.files:
        return _wrong_usage("--fix writes files, and - is none; use --diff")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if options.to_stack:
        return migration.run(options)
    from eks_gpushare.lint.baseline import BaselineError
    from eks_gpushare.lint.finding_files import ConfigurationError

    try:
        settings = lint_options.settings_of(options)
        stack = _stack(options.against) if options.against else None
        if options.explain_scopes:
            return _explain(options, settings)
        return _lint(options, outputs, stack, settings)
    except (
        lint_options.GivenWronglyError,
        BaselineError,
        ConfigurationError,
    ) as error:
        return _wrong_usage(str(error))


def _lint(
    options: argparse.Namespace,
    outputs: Sequence[Output],
    stack: Stack | None,
    settings: LintSettings,
) -> int:
    file, known = lint_options.baseline_of(options, settings)
    if file is not None:
        settings.pass_over(file)
    writes = options.fix and not options.diff
    found = linted(options, stack, settings, corrects=options.fix or options.diff)
    if wants_text(options):
        for fixed in found.fixed:
            sys.stdout.write(fixed.diff())
        sys.stdout.flush()
    for left in found.left:
        what = f"{left.places} correction{'' if left.places == 1 else 's'}"
        _say(f"{printable(left.file)}: {what} not written, since it {left.why}")
    if writes and not _written(found.fixed):
        return WRONG_USAGE
    reports = found.after if writes else found.before
    gone: tuple[Gone, ...] = ()
    if known is not None and file is not None:
        reports, gone, is_written = _held(reports, file, known, settings, options)
        if not is_written:
            return WRONG_USAGE
    quiet = options.quiet
    written = write_outputs(
        outputs,
        text=lambda: print_reports(reports, quiet=quiet, most=options.max),
        document=lambda: _document(reports, found, file, gone),
        reports=lambda: [_report(reports, quiet=quiet, baseline=file, gone=gone)],
    )
    return _code(reports) if written else WRONG_USAGE


def _held(
    reports: tuple[FileReport, ...],
    file: Path,
    known: Baseline,
    settings: LintSettings,
    options: argparse.Namespace,
) -> tuple[tuple[FileReport, ...], tuple[Gone, ...], bool]:
    """The reports without what is known, what of that is gone, and whether all was written."""
    from eks_gpushare.cli.writing import write_files
    from eks_gpushare.lint.baseline import Looked

    looked = Looked(settings.looks_for, lambda each: settings.leaves_out(str(each)))
    held = known.held(reports, looked)
    if not options.write_baseline:
        for line in _told(held.gone, file):
            _say(line)
        return held.reports, held.gone, True
    renewed = known.renewed(held.reports, looked)
    try:
        write_files({file: renewed.as_text()}, force=True)
    except OSError as error:
        _wrong_usage(f"{file} cannot be written: {reason(error)}")
        return held.reports, held.gone, False
    gone = sum(each.times for each in held.gone)
    away = f"; {gone} gone {'are' if gone > 1 else 'is'} dropped" if gone else ""
    findings = f"{renewed.size} finding{'' if renewed.size == 1 else 's'}"
    files = f"{len(renewed.entries)} file{'' if len(renewed.entries) == 1 else 's'}"
    _say(f"{printable(str(file))}: {findings} of {files}{away}")
    return renewed.held(reports, looked).reports, (), True


def _told(gone: Sequence[Gone], file: Path) -> Iterator[str]:
    """What of a baseline is gone: the first few, and how many."""
    if not gone:
        return
    count = sum(each.times for each in gone)
    what = "finding is" if count == 1 else "findings are"
    yield f"{printable(str(file))}: {count} {what} gone; --write-baseline drops them"
    for each in gone[:_TOLD]:
        yield printable(f"  {each.file}: {each.entry}{f' ({each.times})' * (each.times > 1)}")
    if len(gone) > _TOLD:
        yield f"  and {len(gone) - _TOLD} more"


def _code(reports: Sequence[FileReport]) -> int:
    if not all(report.readable for report in reports):
        return WRONG_USAGE
    return FINE if all(report.ok for report in reports) else FOUND


def _stack(given: str) -> Stack:
    # Its models are a third of what is imported, and most calls name no stack.
    from eks_gpushare.lint.stack_side import StackUnusableError, read_stack, stack_file_of

    try:
        return read_stack(stack_file_of(given))
    except StackUnusableError as error:
        raise lint_options.GivenWronglyError(str(error)) from None


def _explain(options: argparse.Namespace, settings: LintSettings) -> int:
    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.dispatch import read_files
    from eks_gpushare.manifests.files import given_files

    files = list(
        given_files(options.files, settings.leaves_out, ignored=options.no_respect_gitignore)
    )
    declared = Declared(together=True) if options.together else settings.declared()
    reading = read_files(files, declared)
    scopes = [(scope, sorted(scope.files or reading.files)) for scope in reading.scopes()]
    if options.json:
        document = [
            {"name": scope.name, "why": scope.why, "files": names} for scope, names in scopes
        ]
        print_json({"scopes": document})
    else:
        for scope, names in scopes:
            sys.stdout.write(f"{printable(scope.name)}: {printable(scope.why)}\n")
            sys.stdout.writelines(f"  {printable(name)}\n" for name in names)
        sys.stdout.flush()
    unread = [name for name, file in reading.files.items() if not file.readable]
    for name in unread:
        _say(f"{printable(name)} cannot be read")
    return WRONG_USAGE if unread else FINE


def _written(fixed: Sequence[Fixed]) -> bool:
    from eks_gpushare.lint.replacing import write

    try:
        for told in write(fixed):
            _say(printable(told))
    except OSError as error:
        _wrong_usage(f"nothing is written: {error}")
        return False
    return True


def _wrong_usage(message: str) -> int:
    _say(message)
    return WRONG_USAGE


def _say(message: str) -> None:
    print(f"eks-gpushare: {message}", file=sys.stderr)


def _document(
    reports: Sequence[FileReport], found: Found, file: Path | None, gone: Sequence[Gone]
) -> dict[str, object]:
    by_name: dict[str, dict[str, object]] = {
        fixed.file: {"fixes": fixed.places, "diff": fixed.diff()} for fixed in found.fixed
    }
    by_name |= {left.file: {"notFixed": f"it {left.why}"} for left in found.left}
    files = [{**report.as_json(), **by_name.get(report.file, {})} for report in reports]
    if file is None:
        return {"files": files}
    known = sum(len(report.known) for report in reports)
    dropped = [each._asdict() for each in gone]
    return {"files": files, "baseline": {"file": str(file), "known": known, "gone": dropped}}


def _report(
    reports: Sequence[FileReport], *, quiet: bool, baseline: Path | None, gone: Sequence[Gone]
) -> Report:
    from eks_gpushare.lint.all_rules import lint_rules
    from eks_gpushare.reports.findings import Located, report_of
    from eks_gpushare.rules import defect_rules

    def located(file: str, placed: Placed) -> Located:
        line, column = placed.position or (None, None)
        return Located(placed.finding, file, line, column, placed.identity)

    rules = {rule.id: rule for rule in (*lint_rules(), *defect_rules())}
    known = [located(report.file, placed) for report in reports for placed in report.known]
    return report_of(
        "lint",
        [report.file for report in reports],
        [
            located(report.file, placed)
            for report in reports
            for placed in shown(report, quiet=quiet)
        ],
        rules,
        silenced=[
            (located(report.file, away.placed), str(away.silence))
            for report in reports
            for away in report.silenced
        ],
        known=None if baseline is None else known,
        notes=list(_told(gone, baseline)) if baseline is not None else (),
        ended=all(report.readable for report in reports),
    )
