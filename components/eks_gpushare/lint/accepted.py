"""What is open for now by its author's own word: a comment beside it, or a variable's description.

Whoever writes `# restrict this in production` beside a network knows of it. It is told as a note,
but of files of production, where that day has come.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.rules.control_plane import OPEN_ENDPOINT
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.inventory.problem import Judgement

_COMMENT: Final = re.compile(r"(?:^|[ \t])(?:#|//|/\*)(?P<said>.*)")
_ONLY_COMMENT: Final = re.compile(r"[ \t]*(?:#|//|/?\*)")
_DESCRIPTION: Final = re.compile(r"^[ \t]*\"?description\"?[ \t]*[=:](?P<said>.*)")
_KNOWN: Final = re.compile(
    r"\b(?:to ?do|fixme|temporar(?:y|ily)|for now|open by default|on purpose|intentional(?:ly)?"
    r"|deliberate(?:ly)?|(?:in|for|before|on) (?:real |a )?prod(?:uction)?"
    r"|(?:in|for) (?:local |easy |easier )?(?:dev(?:elopment)?|testing|tests?|demos?|labs?|pocs?"
    r"|simplicity|convenience)"
    r"|(?:restrict|tighten|lock|limit|narrow|change|adjust|replace)\b.*\b(?:your|later|once|after))\b",
    re.IGNORECASE,
)
"""That `restrict` alone is not: it may be what the author believes the value to do."""
_PRODUCTION: Final = re.compile(r"(?<![a-z])prod(?:uction)?(?![a-z])", re.IGNORECASE)
_BLOCK: Final = re.compile(r"^[ \t]*variable[ \t]+\"|^\S.*\{[ \t]*$")
_MOST: Final = 12
"""Lines above the value in which its variable begins, and its comment."""


def as_accepted(judgement: Judgement, text_of: Callable[[str], str]) -> Judgement:
    """An open endpoint as a note, where whoever opened it says that it is so for now.

    Args:
        judgement: What was found.
        text_of: Gives the text of a file by its name.
    """
    document = judgement.source.document
    if not isinstance(judgement, Problem) or judgement.rule is not OPEN_ENDPOINT:
        return judgement
    if not isinstance(document, Document):
        return judgement
    # The first network stands where it is written, be it a default or a file of variables.
    file, position = document.where((*judgement.source.path, *judgement.path, 0))
    lines = text_of(file).splitlines()
    if _PRODUCTION.search(file) or not any(map(_KNOWN.search, _said(lines, position.line))):
        return judgement
    return replace(judgement, severity="info")


def _said(lines: list[str], number: int) -> list[str]:
    """What comments of a line say, those right above it, and the description of its variable."""
    found: list[str] = []
    is_beside = True
    for index in range(number - 1, max(-1, number - 1 - _MOST), -1):
        line = lines[index] if index < len(lines) else ""
        described = _DESCRIPTION.match(line)
        is_own = index == number - 1
        is_beside = is_own or (is_beside and _ONLY_COMMENT.match(line) is not None)
        comment = _COMMENT.search(line) if is_beside else None
        found += [each["said"] for each in (described, comment) if each is not None]
        if _BLOCK.match(line) and not is_own:
            break
    return found
