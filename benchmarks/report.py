"""Figures, and how they are shown."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
_PLACES = {"times": 2, "s": 2, "ms": 1, "MB": 0, "exponent": 2, "percent": 1}
_SHOWN = {"times": "{} x", "exponent": "n^{}", "percent": "{} %"}
_DISTRIBUTIONS = ("pulumi", "pulumi-aws", "pulumi-eks", "pulumi-kubernetes", "pydantic", "PyYAML")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number."""

    subject: str
    """What it belongs to."""
    text: str
    """What was measured."""
    value: float
    """The number."""
    unit: str
    """times, s, ms, MB, exponent or percent."""
    limit: float | None = None
    """The most it may be; None where nothing is promised."""

    @property
    def verdict(self) -> str:
        """Whether it is ok or over, against the limit; nothing without one."""
        return "" if self.limit is None else "ok" if self.value <= self.limit else "over"

    def cells(self) -> list[str]:
        """The figure as a row of a table."""
        limit = "" if self.limit is None else _shown(self.limit, self.unit)
        return [self.subject, self.text, _shown(self.value, self.unit), limit, self.verdict]

    def as_json(self) -> dict[str, Any]:
        """The figure as `--json` prints it."""
        return {
            "subject": self.subject,
            "text": self.text,
            "value": round(self.value, 4),
            "unit": self.unit,
            "limit": self.limit,
            "verdict": self.verdict or None,
        }


def _shown(value: float, unit: str) -> str:
    number = f"{value:,.{_PLACES[unit]}f}"
    return _SHOWN.get(unit, f"{{}} {unit}").format(number)


def machine() -> dict[str, str]:
    """What the figures depend on: no names of machines and no paths."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "cores": str(cores),
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in _DISTRIBUTIONS},
    }


def as_text(figures: Sequence[Figure]) -> str:
    """The figures as a table in plain text."""
    rows = [["", "measured", "value", "limit", ""], *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_text_row(row, widths) for row in rows)


def _text_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    numbers = {2, 3}  # these columns are aligned to the right
    padded = [
        cell.rjust(width) if column in numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def as_json(figures: Iterable[Figure], rounds: int) -> str:
    """The figures, and what they depend on, as one JSON document."""
    found = [figure.as_json() for figure in figures]
    return json.dumps({"machine": machine(), "rounds": rounds, "figures": found}, indent=2)


def write_markdown(page: Path, figures: Sequence[Figure], rounds: int) -> None:
    """Put the figures between the markers of a page.

    Args:
        page: The page, which has both markers.
        figures: The figures.
        rounds: How often each command was counted.
    """
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(
        f"{before}{BEGIN}\n{_markdown(figures, rounds)}\n{END}{after}", encoding="utf-8"
    )


def _markdown(figures: Sequence[Figure], rounds: int) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in machine().items() if name != "cores")
    cores = machine()["cores"]
    lines = [f"Medians of {rounds} runs, on {cores} cores: {facts}.", ""]
    for subject in dict.fromkeys(figure.subject for figure in figures):
        lines += [f"| {subject} | value | limit | |", "|---|---:|---:|---|"]
        rows = [figure.cells()[1:] for figure in figures if figure.subject == subject]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)
