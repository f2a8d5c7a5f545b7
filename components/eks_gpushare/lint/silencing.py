"""Findings without those that comments of their file let be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.names import is_meant
from eks_gpushare.findings.silenced import Comments, about_comments, comments
from eks_gpushare.lint.report import Placed, Silenced
from eks_gpushare.lint.rules.files import FAULTY_SILENCE, FOR_NOTHING, OVER, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from eks_gpushare.findings.silenced import Silence

_NEVER: Final = (UNREADABLE.id, FAULTY_SILENCE.id, OVER.id, FOR_NOTHING.id)
"""What no comment lets be: what could not be read, and what is said of comments themselves."""


def silenced(
    found: Iterable[Placed], text: str, today: date
) -> tuple[list[Placed], tuple[Silenced, ...]]:
    """What counts, and what is let be.

    Args:
        found: The findings of a file.
        text: The file's text.
        today: What last days are compared with.
    """
    given = comments(text)
    if given == Comments():
        return list(found), ()
    kept: list[Placed] = []
    away: list[Silenced] = []
    met: list[Silence] = []
    for placed in found:
        meant = [one for one in given.silences if _is_for(one, placed)]
        met += meant
        holding = next((one for one in meant if one.holds(today)), None)
        if holding is None:
            kept.append(placed)
        else:
            away.append(Silenced(placed, holding))
    for finding, place in about_comments(given, met, today):
        kept.append(Placed(finding, place))
    return kept, tuple(away)


def _is_for(silence: Silence, placed: Placed) -> bool:
    code = placed.finding.code
    at = placed.position.line if placed.position else 1
    return at == silence.line and code not in _NEVER and is_meant(code, silence.names)
