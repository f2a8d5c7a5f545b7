"""The stack that a verb is given, of which it needs a plan without errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli import FOUND, WRONG_USAGE

if TYPE_CHECKING:
    from eks_gpushare.lint.stack_side import Stack


def stack_or_code(given: str) -> Stack | int:
    """The stack, or the exit code once standard error says what is wrong with it.

    Args:
        given: Its name, or its file.
    """
    from eks_gpushare.findings.text import printable
    from eks_gpushare.lint.stack_side import StackUnusableError, read_stack, stack_file_of

    try:
        stack = read_stack(stack_file_of(given))
    except StackUnusableError as error:
        print(f"eks-gpushare: {printable(str(error))}", file=sys.stderr)
        return WRONG_USAGE
    if stack.environment is None:
        said = f"{stack.name} has errors: eks-gpushare check says which"
        print(f"eks-gpushare: {said}", file=sys.stderr)
        return FOUND
    return stack
