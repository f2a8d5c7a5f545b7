"""Annotations of GitHub Actions: commands on standard output that mark lines of a pull request.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands, escaped as
actions/toolkit does it (`packages/core/src/command.ts`). GitHub shows ten errors and ten warnings
of a step, so errors come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.reports.paths import placed, root_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.reports.report import Report, Result

_COMMANDS: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "notice"}
_RANKS = tuple(_COMMANDS)


def github(reports: Sequence[Report]) -> str:
    """Reports as annotations, errors first, and a line for each that sums it up."""
    root = root_of(Path.cwd())
    shown = [result for report in reports for result in _shown(report)]
    shown.sort(key=lambda result: _RANKS.index(result.level))
    return "\n".join([*(_annotation(result, root) for result in shown), *map(_sum, reports), ""])


def _shown(report: Report) -> list[Result]:
    return [result for result in report.results if result.state != "exempted"]


def _sum(report: Report) -> str:
    shown = _shown(report)
    counts = ", ".join(
        f"{sum(result.level == level for result in shown)} {name}"
        for level, name in (("error", "errors"), ("warning", "warnings"), ("info", "notices"))
    )
    exempted = len(report.results) - len(shown)
    rest = f", {exempted} exempted" if exempted else ""
    about = _data(" ".join(report.subjects))
    return f"eks-gpushare {report.verb} {about}: {counts}{rest}"


def _annotation(result: Result, root: Path) -> str:
    parts: dict[str, str] = {}
    if result.file:
        parts["file"] = placed(result.file, root).path
        if result.line:
            parts["line"] = str(result.line)
            if result.column:
                parts["col"] = str(result.column)
    parts["title"] = result.rule
    where = result.urn.rpartition("::")[2] or result.place
    message = " ".join(filter(None, (result.message, result.fix)))
    if result.state == "unjudged":
        message = f"Not judged: {message}"
    if where and where not in message:
        message = f"{where}: {message}"
    told = ",".join(f"{name}={_property(value)}" for name, value in parts.items())
    return f"::{_COMMANDS[result.level]} {told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
