"""What is open for now by its author's own word: a comment, or a variable's description.

Whoever writes `# restrict this in production` beside a network knows of it. It is told as a note,
but of files of production, where that day has come.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.rules.control_plane import OPEN_ENDPOINT
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
_EXAMPLE: Final = "terraform.tfvars.example"
_NETWORKS: Final = re.compile(r"^[^#]*cidr[^#=]*=|0\.0\.0\.0/0", re.IGNORECASE)
_MOST: Final = 12
"""Lines above the value in which its variable begins, and its comment."""


def as_accepted(judgement: Judgement, text_of: Callable[[str], str]) -> Judgement:
    """An open endpoint as a note, where whoever opened it says that it is so for now.

    Args:
        judgement: What was found.
        text_of: Gives the text of a file by its name.
    """
    document = judgement.source.document
    if not isinstance(judgement, Problem) or not isinstance(document, Document):
        return judgement
    if judgement.rule is not OPEN_ENDPOINT:
        return judgement
    # The first network stands where it is written, be it a default or a file of variables.
    file, position = document.where((*judgement.source.path, *judgement.path, 0))
    folders = {posixpath.dirname(file), posixpath.normpath(document.build)}
    if _PRODUCTION.search(file) or not (
        _is_known(text_of(file).splitlines()[: position.line])
        or any(map(_is_known, _in_examples(folders)))
    ):
        return judgement
    return replace(judgement, severity="info")


def _in_examples(folders: Iterable[str]) -> Iterator[list[str]]:
    """The lines down to each network of a file that shows which variables a root module takes."""
    for folder in sorted(folders):
        path = Path(folder, _EXAMPLE)
        lines = read_file(str(path)).text.splitlines() if path.is_file() else []
        for number, line in enumerate(lines, 1):
            if _NETWORKS.search(line):
                yield lines[:number]


def _is_known(above: list[str]) -> bool:
    """Whether what is said of the last of some lines is that it is so for now."""
    return any(map(_KNOWN.search, _said(above[-_MOST:] or [""])))


def _said(above: list[str]) -> Iterator[str]:
    """What comments of the last line say, those right above it, and what describes its variable.

    Args:
        above: Lines of a file down to that of a value.
    """
    *before, own = above
    comments = takewhile(_ONLY_COMMENT.match, reversed(before))
    within = takewhile(lambda line: not _BLOCK.match(line), reversed(before))
    found = (*map(_COMMENT.search, (own, *comments)), *map(_DESCRIPTION.match, within))
    return (each["said"] for each in found if each is not None)
