"""Tables of text that are whole at any width: nothing is cut off, and nothing is left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from eks_gpushare.findings.text import wrapped

_GAP = "  "
_LEAST = 20
"""Columns that the first column keeps when it is folded."""


@dataclass(slots=True)
class Table:
    """Rows under headings, of which all but the first columns hold numbers."""

    headings: list[str]
    """Heading of each column; lines are told by line breaks, and stand at the bottom."""
    left: int = 1
    """How many columns, from the first on, are words: aligned left."""
    rows: list[list[str]] = field(default_factory=list)
    """Cells; an empty row leaves a line free, and one of a single cell goes over all columns."""

    def width(self) -> int:
        """Columns that the table takes when nothing is folded."""
        return sum(self._widths()) + len(_GAP) * (len(self.headings) - 1)

    def lines(self, width: int) -> list[str]:
        """The table in lines of at most this width, as long as its numbers fit beside 20 columns.

        The first column is folded where it must be.
        """
        widths = self._widths()
        too_wide = max(0, self.width() - width)
        widths[0] = max(min(_LEAST, widths[0]), widths[0] - too_wide)
        heads = [heading.split("\n") for heading in self.headings]
        high = max(map(len, heads))
        padded = [[""] * (high - len(head)) + head for head in heads]
        head = [self._line([column[at] for column in padded], widths) for at in range(high)]
        rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        body = (self._folded(row, widths, width) for row in self.rows)
        return [*head, rule, *(line for lines in body for line in lines)]

    def _widths(self) -> list[int]:
        cells = [self.headings, *(row for row in self.rows if len(row) == len(self.headings))]
        return [
            max(len(line) for row in cells for line in row[at].split("\n"))
            for at in range(len(self.headings))
        ]

    def _folded(self, row: list[str], widths: list[int], width: int) -> list[str]:
        if not row:
            return [""]
        if len(row) == 1:
            return wrapped(row[0], width, "    ")
        # Numbers stand beside the last line of what they are about.
        indent = row[0][: len(row[0]) - len(row[0].lstrip())]
        *above, last = wrapped(row[0].lstrip(), widths[0], f"{indent}{_GAP}", indent) or [""]
        return [*above, self._line([last, *row[1:]], widths)]

    def _line(self, cells: list[str], widths: list[int]) -> str:
        aligned = (
            cell.ljust(width) if at < self.left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return _GAP.join(aligned).rstrip()


def money(amount: float | None) -> str:
    """Dollars for people: cents, and as much more of small amounts as tells them from nothing."""
    if amount is None:
        return "unknown"
    return f"{amount:.4f}" if 0 < abs(amount) < 0.1 else f"{amount:,.2f}"  # noqa: PLR2004
