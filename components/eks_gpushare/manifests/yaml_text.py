"""The text of one document of YAML or JSON, with the tree that was read from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.stack_file.composer import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.stack_file.composer import Node


class BlockScalar(NamedTuple):
    """Where a text stands within another: as a literal block, whose lines are its own."""

    outer: YamlText
    line: int
    """Lines of the outer document before its first."""
    start: int
    """Characters of the outer document before its first line."""
    indent: int
    """Blanks before each of its lines."""
    path: FieldPath = ()
    """Its place in the outer document."""


@dataclass(frozen=True, slots=True)
class YamlText:
    """One document's text."""

    text: str
    root: Node | None = field(compare=False, repr=False)
    start: int = 0
    """Characters of the whole text before it."""
    line: int = 0
    """Lines of the whole text before it."""
    place: Callable[[Position], Position] | None = field(default=None, compare=False, repr=False)
    """From places in the whole text to those in the file, where it is a part of that."""
    block: BlockScalar | None = field(default=None, compare=False, repr=False)
    """Where the whole text stands in another document."""

    @property
    def value(self) -> Any:
        """The document's plain value."""
        return self.root.value if self.root else None

    def line_and_column(self, path: FieldPath) -> Position:
        """Where a key or item stands, or its nearest ancestor."""
        if self.root is None:
            return self.in_file(0, 0)
        entry, _ = find(self.root, path)
        span = entry.key if entry else self.root.span
        return self.in_file(span.line, span.column)

    def in_file(self, line: int, column: int) -> Position:
        """The place in the file of one in the document, which counts from 0."""
        line += self.line
        if self.block is not None:
            return self.block.outer.in_file(self.block.line + line, self.block.indent + column)
        found = Position(line + 1, column + 1)
        return self.place(found) if self.place else found
