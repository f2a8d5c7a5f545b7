"""`eks-gpushare lint FILE...`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.cli import FINE, FOUND, WRONG_USAGE, migration
from eks_gpushare.cli.outputs import (
    OutputUsageError,
    add_output_argument,
    outputs_of,
    wants_text,
    write_outputs,
)
from eks_gpushare.cli.silenced import print_silenced
from eks_gpushare.cli.streams import print_json
from eks_gpushare.findings.text import counted, print_findings, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from eks_gpushare.cli.outputs import Output
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.fixes import Corrections, Fixed
    from eks_gpushare.lint.report import FileReport, Placed, Silenced
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.reports.report import Report as Found


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
        "--no-security",
        action="store_true",
        help="leave out how safe nodes start: metadata service, encryption, addresses, disks",
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
    add_output_argument(parser)
    migration.add_arguments(parser)


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
    from eks_gpushare.lint.configuration import ConfigurationError
    from eks_gpushare.lint.stack_side import StackUnusableError

    try:
        declared = _declared(options)
        stack = _stack(options.against) if options.against else None
    except (ConfigurationError, StackUnusableError) as error:
        return _wrong_usage(str(error))
    if options.explain_scopes:
        return _explain(options, declared)
    return _lint(options, outputs, stack, declared)


def _lint(
    options: argparse.Namespace, outputs: Sequence[Output], stack: Stack | None, declared: Declared
) -> int:
    writes = options.fix and not options.diff
    made, reports = _linted(options, stack, declared, writes=writes)
    fixed = made.fixed if made is not None else ()
    if options.no_security:
        reports = tuple(report.without_security() for report in reports)
    if wants_text(options):
        for file in fixed:
            sys.stdout.write(file.diff())
        sys.stdout.flush()
    for left in made.left if made is not None else ():
        what = f"{left.places} correction{'' if left.places == 1 else 's'}"
        _say(f"{printable(left.file)}: {what} not written, since it {left.why}")
    if writes and not _written(fixed):
        return WRONG_USAGE
    quiet = options.quiet
    written = write_outputs(
        outputs,
        text=lambda: _print_all(reports, quiet=quiet),
        document=lambda: _document(reports, made),
        reports=lambda: [_report(reports, quiet=quiet)],
    )
    return _code(reports) if written else WRONG_USAGE


def _code(reports: Sequence[FileReport]) -> int:
    if not all(report.readable for report in reports):
        return WRONG_USAGE
    return FINE if all(report.ok for report in reports) else FOUND


def _stack(given: str) -> Stack:
    from eks_gpushare.lint.stack_side import read_stack, stack_file_of

    return read_stack(stack_file_of(given))


def _declared(options: argparse.Namespace) -> Declared:
    from eks_gpushare.lint.configuration import declared_in, found_configuration
    from eks_gpushare.lint.declared import Declared

    if options.together:
        return Declared(together=True)
    return declared_in(found_configuration(Path.cwd()))


def _explain(options: argparse.Namespace, declared: Declared) -> int:
    from eks_gpushare.lint.dispatch import read_files
    from eks_gpushare.manifests.files import given_files

    reading = read_files(given_files(options.files), declared)
    scopes = [(scope, sorted(scope.files or reading.files)) for scope in reading.scopes()]
    if options.json:
        document = [
            {"name": scope.name, "why": scope.why, "files": files} for scope, files in scopes
        ]
        print_json({"scopes": document})
    else:
        for each, files in scopes:
            sys.stdout.write(f"{printable(each.name)}: {printable(each.why)}\n")
            sys.stdout.writelines(f"  {printable(file)}\n" for file in files)
        sys.stdout.flush()
    unread = [name for name, file in reading.files.items() if not file.readable]
    for name in unread:
        _say(f"{printable(name)} cannot be read")
    return WRONG_USAGE if unread else FINE


def _linted(
    options: argparse.Namespace, stack: Stack | None, declared: Declared, *, writes: bool
) -> tuple[Corrections | None, tuple[FileReport, ...]]:
    """What to correct, if that was asked for, and what is found once it is."""
    from eks_gpushare.lint.dispatch import lint_files
    from eks_gpushare.manifests.files import given_files

    files = given_files(options.files)
    if not (writes or options.diff):
        return None, lint_files(files, stack, declared)
    from eks_gpushare.lint.fixes import fixed_files

    made = fixed_files(files, stack, declared)
    return made, made.after if writes else made.before


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


def _document(reports: Sequence[FileReport], made: Corrections | None) -> dict[str, object]:
    by_name: dict[str, dict[str, object]] = {}
    if made is not None:
        by_name = {file.file: {"fixes": file.places, "diff": file.diff()} for file in made.fixed}
        by_name |= {file.file: {"notFixed": f"it {file.why}"} for file in made.left}
    return {"files": [{**report.as_json(), **by_name.get(report.file, {})} for report in reports]}


def _report(reports: Sequence[FileReport], *, quiet: bool) -> Found:
    from eks_gpushare.lint.all_rules import lint_rules
    from eks_gpushare.reports.findings import Located, report_of
    from eks_gpushare.rules import defect_rules

    found = [
        Located(placed.finding, report.file, *(placed.position or (None, None)))
        for report in reports
        for placed in _shown(report, quiet=quiet)
    ]
    away = [
        Located(silenced.placed.finding, report.file, *(silenced.placed.position or (None, None)))
        for report in reports
        for silenced in report.silenced
    ]
    reasons = [str(silenced.silence) for report in reports for silenced in report.silenced]
    rules = {rule.id: rule for rule in (*lint_rules(), *defect_rules())}
    readable = all(report.readable for report in reports)
    files = [report.file for report in reports]
    silenced = list(zip(away, reasons, strict=True))
    return report_of("lint", files, found, rules, silenced=silenced, ended=readable)


def _shown(report: FileReport, *, quiet: bool) -> list[Placed]:
    return [placed for placed in report.found if not quiet or placed.finding.severity != "info"]


def _print_all(reports: Sequence[FileReport], *, quiet: bool) -> None:
    for report in reports:
        verdict = "ok" if report.ok else "refused"
        away = f", {len(report.silenced)} silenced" if report.silenced else ""
        counts = f"{counted(report.findings)}{away}"
        sys.stdout.write(f"{printable(report.file)}: {verdict}{counts}\n")
        shown = _shown(report, quiet=quiet)
        print_findings([(placed.position, placed.finding) for placed in shown], sys.stdout)
        if not quiet:
            print_silenced(map(_let_be, report.silenced))


def _let_be(silenced: Silenced) -> tuple[int | None, str, Silence]:
    position = silenced.placed.position
    return position.line if position else None, silenced.placed.finding.code, silenced.silence
