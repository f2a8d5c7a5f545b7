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
    for number, line in enumerate(text.splitlines(), first):
        if not line.strip() or _ALONE.match(line):
            if together:
                yield together
            together = []
        if line.strip():
            together.append((line, number))
            if _HEADING.match(line) or line.lstrip().startswith("|"):
                yield together
                together = []
    if together:
        yield together


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
