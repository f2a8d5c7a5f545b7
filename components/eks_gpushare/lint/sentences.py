"""The sentences of documentation, with the line that each begins on."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ALONE: Final = re.compile(r"[ \t]*(?:[-*+•|#]|[0-9]+[.)][ \t]|>)")
_END: Final = re.compile(r"[.!?][\"')\]*_]*[ \t]+(?=[\"'(*_`]*[A-Z0-9])")
_LONGEST: Final = 2000
"""Characters of what can be a sentence."""
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•][ \t]|[0-9]+[.)][ \t])")
_LINK_TO_ITSELF: Final = "\u00b6"
"""At the end of the headings of a page that was copied as text."""


class Sentence(NamedTuple):
    """A sentence, or what stands on a line of its own."""

    text: str
    line: int
    column: int
    before: str
    """What stands shortly before it: a heading, the sentence that begins a list."""


def sentences(parts: Iterable[tuple[str, int]]) -> Iterator[Sentence]:
    """The sentences of prose, in its order.

    Args:
        parts: Texts, each with the line that it begins on.
    """
    recent: list[str] = []
    for text, first in parts:
        for paragraph in _paragraphs(text, first):
            for found in _parted(paragraph):
                yield Sentence(*found, " ".join(recent))
                recent.append(found[0])
                del recent[:-4]


def _paragraphs(text: str, first: int) -> Iterator[list[tuple[str, int]]]:
    """Lines that belong together, each with its number."""
    together: list[tuple[str, int]] = []
    lines = text.splitlines()
    widths = _widths(lines)
    for at, line in enumerate(lines):
        ended = not line.strip() or _ALONE.match(line)
        if together and (ended or _is_behind_a_list(together[-1][0], line, widths[at])):
            yield together
            together = []
        if line.strip():
            together.append((line, first + at))
            if _HEADING.match(line) or line.lstrip().startswith("|") or _is_title(line):
                yield together
                together = []
    if together:
        yield together


def _widths(lines: list[str]) -> list[int]:
    """Of each line, the longest of those that stand together with it without a blank one."""
    found = [0] * len(lines)
    start = 0
    for end in [*(at for at, line in enumerate(lines) if not line.strip()), len(lines)]:
        longest = max(map(len, lines[start:end]), default=0)
        found[start:end] = [longest] * (end - start)
        start = end
    return found


def _is_title(line: str) -> bool:
    return line.rstrip().endswith(_LINK_TO_ITSELF)


def _is_behind_a_list(before: str, line: str, width: int) -> bool:
    """Whether a line is no more of the list's item before it.

    Markdown takes an unindented line as more of the item, if nothing parts them. It is meant so
    where lines were broken to a width, so that its first word had no room on the line before; in
    a page copied as text it is what comes after the list.
    """
    if not _ITEM.match(before) or line[:1].isspace():
        return False
    return len(before) + 1 + len(line.split(maxsplit=1)[0]) <= width


def _parted(lines: list[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Text, line and column of each sentence of a paragraph."""
    stripped = [f"{line.strip()} " for line, _ in lines]
    begins: list[tuple[int, int, int]] = []
    offset = 0
    for (line, number), text in zip(lines, stripped, strict=True):
        begins.append((offset, number, len(line) - len(line.lstrip()) + 1))
        offset += len(text)
    whole = "".join(stripped)
    start = 0
    for end in [*(found.end() for found in _END.finditer(whole)), len(whole)]:
        text = whole[start:end].strip()
        if text and len(text) <= _LONGEST:
            at = bisect_right(begins, start, key=lambda each: each[0]) - 1
            offset, number, column = begins[at]
            yield text, number, column + start - offset
        start = end
