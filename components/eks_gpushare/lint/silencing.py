"""Findings without those that comments of their file let be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.silenced import SHAPE, comments, unused
from eks_gpushare.lint.document import Position
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
    if not given.silences and not given.faulty:
        return list(found), ()
    kept: list[Placed] = []
    away: list[Silenced] = []
    met: list[Silence] = []
    for each in found:
        meant = [one for one in given.silences if _is_for(one, each)]
        met += meant
        holding = next((one for one in meant if one.holds(today)), None)
        if holding is None:
            kept.append(each)
        else:
            away.append(Silenced(each, holding))
    kept += _about_themselves(given.silences, met, today)
    for fault in given.faulty:
        message = f"The comment lets nothing be: it lacks {fault.lacks}."
        finding = FAULTY_SILENCE.finding((), message, f"Write {SHAPE}")
        kept.append(Placed(finding, Position(*fault.place)))
    return kept, tuple(away)


def _is_for(silence: Silence, placed: Placed) -> bool:
    code = placed.finding.code
    at = placed.position.line if placed.position else 1
    return code in silence.codes and at == silence.line and code not in _NEVER


def _about_themselves(
    silences: Iterable[Silence], met: Iterable[Silence], today: date
) -> Iterable[Placed]:
    """What is to be said of comments that are past their day, or for nothing."""
    met = list(met)
    idle = set(unused(silences, met))
    for each in silences:
        codes = ", ".join(each.codes)
        place = Position(*each.place)
        if not each.holds(today):
            then = "nothing needs it any more" if each in idle else "what it was for counts again"
            message = f"The comment that lets {codes} be ended with {each.until}: {then}."
            fix = "Remove it, or give it a later day and a reason for it."
            yield Placed(OVER.finding((), message, fix), place)
        elif each in idle:
            message = f"No finding {codes} is on line {each.line}, so the comment is for nothing."
            fix = "Remove it, or write it on the line that the finding names or above that."
            yield Placed(FOR_NOTHING.finding((), message, fix), place)
