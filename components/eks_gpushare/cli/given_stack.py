"""The stack that a verb is given, of which it needs a plan without errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FOUND, WRONG_USAGE

if TYPE_CHECKING:
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.stack_file.check import StackReport


class StackRefusedError(Exception):
    """A stack file that `check` refuses."""

    def __init__(self, report: StackReport) -> None:
        """Keep what was found in it."""
        super().__init__(report.file)
        self.report = report


def stack_or_code(given: str, *, as_json: bool) -> Stack | int:
    """The stack, or the exit code once it is said what is wrong with it.

    Args:
        given: Its name, or its file.
        as_json: Whether standard output gets a document with all findings besides.
    """
    from eks_gpushare.findings.text import printable
    from eks_gpushare.lint.stack_side import StackUnusableError, read_stack, stack_file_of

    try:
        stack = read_stack(stack_file_of(given))
    except StackUnusableError as error:
        print(f"eks-gpushare: {printable(str(error))}", file=sys.stderr)
        return WRONG_USAGE
    if stack.environment is None:
        return refuse(stack.report, as_json=as_json)
    return stack


def refuse(report: StackReport, *, as_json: bool) -> int:
    """Say on standard error what `check --quiet` says of the file.

    Returns:
        The exit code, as `check` has it.
    """
    from eks_gpushare.cli.check import print_report
    from eks_gpushare.cli.streams import print_json

    if as_json:
        found = [finding.as_json() for finding in report.findings]
        print_json({"stack": report.file, "findings": found})
    print_report(report, sys.stderr)
    return FOUND if report.readable else WRONG_USAGE
