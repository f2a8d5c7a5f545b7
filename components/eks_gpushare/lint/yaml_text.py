"""The text of one document of YAML or JSON, with the tree that was read from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eks_gpushare.lint.nodes import find

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.lint.nodes import Node


@dataclass(frozen=True, slots=True)
class YamlText:
    """One document's text."""

    text: str
    root: Node = field(compare=False, repr=False)
    start: int = 0
    """Characters of the file before it."""
    line: int = 0
    """Lines of the file before it."""

    def line_and_column(self, path: FieldPath) -> tuple[int, int]:
        """Where a key or item stands, or its nearest ancestor; both from 1."""
        entry, _ = find(self.root, path)
        span = entry.key if entry else self.root.span
        return self.line + span.line + 1, span.column + 1
