"""What comments let be, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eks_gpushare.findings.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.silenced import Silence


def print_silenced(away: Iterable[tuple[int | None, str, Silence]]) -> None:
    """Each finding that a comment lets be, with all its names, the last day and the reason.

    Args:
        away: Line and code of each, and the comment.
    """
    for line, code, silence in away:
        from eks_gpushare.facts.names import in_full  # the whole index, which few calls need

        where = f" at line {line}" if line else ""
        sys.stdout.write(printable(f"  silenced {in_full(code)}{where} {silence}") + "\n")
