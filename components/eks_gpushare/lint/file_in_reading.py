"""What is known of a file while files are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.lint.report import FileReport, Placed
from eks_gpushare.lint.silencing import silenced

if TYPE_CHECKING:
    from datetime import date

_MILDEST: Final = ("info", "warning", "error")
"""Of what is found twice, the worst counts."""


@dataclass(slots=True)
class FileInReading:
    """What is known so far of one file."""

    name: str
    kinds: dict[str, None] = field(default_factory=dict)
    found: list[Placed] = field(default_factory=list)
    readable: bool = True
    text: str = ""
    in_folder: bool = False
    """Whether nobody named it."""

    def report(self, today: date) -> FileReport:
        """What was found in it, in the order of its lines."""
        unique: dict[object, Placed] = {}
        for placed in self.found:
            key = replace(placed.finding, severity="error"), placed.position
            if key not in unique or _MILDEST.index(unique[key].finding.severity) < (
                _MILDEST.index(placed.finding.severity)
            ):
                unique[key] = placed
        found, away = silenced(unique.values(), self.text, today)
        in_order = tuple(sorted(found, key=lambda placed: placed.position or Position(0, 0)))
        kinds = tuple(self.kinds)
        return FileReport(self.name, kinds, in_order, self.readable, self.text, away)
