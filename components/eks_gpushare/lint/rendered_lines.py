"""Where what helm makes of a template is written in it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from eks_gpushare.findings.finding import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class TemplateLines:
    """Where lines of a result are written in the template.

    Args:
        text: The result.
        template: The template's text.
    """

    def __init__(self, text: str, template: str) -> None:
        self._text, self._template = text.split("\n"), template.split("\n")
        self._found: list[int] | None = None

    def place(self, inner: Position) -> Position:
        """The line that is the same but for what is filled in, or the nearest one before it."""
        if self._found is None:
            self._found = list(self._aligned())
        # YAML has line breaks that are none of a file.
        line = min(inner.line, len(self._found)) - 1
        return Position(self._found[line] + 1, 1)

    def _aligned(self) -> Iterator[int]:
        """For each line its line in the template, by what both have in the same order."""
        ours, theirs = map(self._keys, (self._text, self._template))
        known: dict[int, int] = {}
        for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
            for step in range(block.size):
                if ours[block.a + step]:
                    known[block.a + step] = block.b + step
        last = 0
        for number, _ in enumerate(self._text):
            last = known.get(number, last)
            yield last

    @staticmethod
    def _keys(lines: Iterable[str]) -> list[str]:
        """Lines by the key that they begin with, whose value a template may fill in."""
        keys = []
        for line in lines:
            plain = line.strip()
            found = re.match(r"(- )?[A-Za-z0-9_./\"'-]+:", plain)
            keys.append(found[0] if found else plain)
        return keys
