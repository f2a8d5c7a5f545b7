"""What is known of a file while files are read."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.lint.report import FileReport, Placed
from eks_gpushare.lint.silencing import silenced

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import date

    from eks_gpushare.inventory.problem import Edit, Judgement
    from eks_gpushare.manifests.document import Document, DocumentReader

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

    def is_values_in(self, charts: Collection[str]) -> bool:
        """Whether it is values of a chart whose own templates read them, by the charts' folders."""
        folder, name = posixpath.split(posixpath.normpath(self.name))
        return folder in charts and name.startswith("values")

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


def edits_of(judgement: Judgement, document: Document) -> tuple[Edit, ...]:
    """The edits of a judgement, by paths from the top of the text that it is in."""
    if isinstance(judgement, NotSeen) or not document.editable:
        return ()
    above = judgement.source.path
    return tuple(replace(edit, path=(*document.at, *above, *edit.path)) for edit in judgement.edits)


def kind_of(reader: DocumentReader, document: Document) -> str:
    """What a document is called that a reader knows."""
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    return f"{reader.name} {kind}" if reader.name == "Kubernetes" else reader.name
