"""What is said where this package itself fails: one finding, and everything else stands."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.finding import FieldPath, Finding

CHECK_FAILED = Rule(
    "GPU012",
    "error",
    "Every check comes to its end.",
    "What a check that failed would have found is not known, so the stack is not let through.",
    "https://docs.python.org/3/library/exceptions.html",
)
_PACKAGES = Path(__file__).parents[2]
_LONGEST = 200


def defect(error: BaseException, rules: Iterable[Rule] = (), at: FieldPath = ()) -> Finding:
    """The finding of a check that raised.

    Args:
        error: What it raised.
        rules: The rules that it looks for. Default: it is none of the rules that failed.
        at: What it looked at.
    """
    names = " and ".join(rule.id for rule in rules)
    message = f"{f'The check of {names}' if names else 'Checking'} stopped: {in_one_line(error)}."
    fix = "This is a defect of eks-gpushare; report it with what stands here. The rest is checked."
    return CHECK_FAILED.finding(at, message, fix)


def in_one_line(error: BaseException, *, placed: bool = True) -> str:
    """An exception as a line: its class, what it says, and where in this package it was raised.

    Args:
        error: The exception.
        placed: Whether to say where: of an error that is not ours it helps nobody.
    """
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  (the error of an error helps nobody)
        said = ""
    said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
    where = _place(error) if placed else ""
    return f"{type(error).__name__}{f': {said}' if said else ''}{f' ({where})' if where else ''}"


def _place(error: BaseException) -> str:
    """File and line of the innermost frame of this package."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGES):
            found = f"{path.relative_to(_PACKAGES).as_posix()}, line {line}"
    return found
