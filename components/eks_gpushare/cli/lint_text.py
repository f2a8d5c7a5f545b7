"""What `lint` found, for people: by file, and what is found many times for one cause once."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.cli.silenced import print_silenced
from eks_gpushare.findings.finding import SEVERITIES
from eks_gpushare.findings.text import counted, line_width, print_findings, printable, severity_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.lint.report import FileReport, Placed, Silenced

_MANY: Final = 3
"""More findings than this of one cause are told together, with so many places."""


class Shown(NamedTuple):
    """A finding that is told, with its file."""

    file: str
    placed: Placed


def print_reports(reports: Sequence[FileReport], *, quiet: bool, most: int | None) -> None:
    """Print what was found; nothing of files without findings.

    Args:
        reports: The files.
        quiet: Leave out notes, and what is silenced.
        most: Most findings that are shown; None for all with those of one cause told together, 0
            for each by itself.
    """
    every = [Shown(report.file, each) for report in reports for each in shown(report, quiet=quiet)]
    grouped, single = ([], every) if most == 0 else _by_cause(every)
    left = len(every)
    if most:
        grouped, single = _cut(grouped, single, most)
        left = sum(map(len, grouped)) + len(single)
    by_file: dict[str, list[Placed]] = {}
    for each in single:
        by_file.setdefault(each.file, []).append(each.placed)
    for report in reports:
        _print_file(report, by_file.get(report.file, []), quiet=quiet, alone=len(reports) == 1)
    for group in grouped:
        _print_group(group)
    if left < len(every):
        sys.stdout.write(f"and {len(every) - left} more findings; --max 0 shows all\n")
    if len(reports) > 1 and (every or not quiet):
        sys.stdout.write(f"{total(reports)}\n")


def shown(report: FileReport, *, quiet: bool) -> list[Placed]:
    """The findings of a file that are told."""
    return [each for each in report.found if not quiet or each.finding.severity != "info"]


def total(reports: Sequence[FileReport]) -> str:
    """All of a call in a line: `61 files: refused, 34 errors, 12 warnings`."""
    verdict = "ok" if all(report.ok and report.readable for report in reports) else "refused"
    found = [finding for report in reports for finding in report.findings]
    return f"{len(reports):,} files: {verdict}{counted(found)}{_away(reports)}"


def _away(reports: Sequence[FileReport]) -> str:
    silenced = sum(len(report.silenced) for report in reports)
    known = sum(len(report.known) for report in reports)
    told = f", {silenced} silenced" if silenced else ""
    return f"{told}, {known} known by the baseline" if known else told


def _by_cause(every: Sequence[Shown]) -> tuple[list[list[Shown]], list[Shown]]:
    causes: dict[tuple[str, str], list[Shown]] = {}
    for each in every:
        key = (each.placed.finding.severity, each.placed.cause)
        causes.setdefault(key, []).append(each)
    many = [found for (_, cause), found in causes.items() if cause and len(found) > _MANY]
    many.sort(key=lambda group: (_rank(group[0]), -len(group), group[0].placed.finding.code))
    inside = {id(each) for group in many for each in group}
    return many, [each for each in every if id(each) not in inside]


def _cut(
    grouped: list[list[Shown]], single: list[Shown], most: int
) -> tuple[list[list[Shown]], list[Shown]]:
    """The worst of them: a group counts as one."""
    units = [*grouped, *([each] for each in single)]
    kept = {id(unit[0]) for unit in sorted(units, key=lambda unit: _rank(unit[0]))[:most]}
    return (
        [group for group in grouped if id(group[0]) in kept],
        [each for each in single if id(each) in kept],
    )


def _rank(each: Shown) -> int:
    return SEVERITIES.index(each.placed.finding.severity)


def _print_file(report: FileReport, told: Sequence[Placed], *, quiet: bool, alone: bool) -> None:
    silenced = report.silenced if not quiet else ()
    if not told and not silenced and not (alone and (not quiet or not report.ok)):
        return
    verdict = "ok" if report.ok else "refused"
    head = f"{printable(report.file)}: {verdict}{counted(report.findings)}{_away([report])}"
    sys.stdout.write(f"{head}\n")
    print_findings([(each.position, each.finding) for each in told], sys.stdout)
    print_silenced(map(_let_be, silenced))


def _print_group(group: Sequence[Shown]) -> None:
    first = group[0].placed.finding
    files = len({each.file for each in group})
    where = f"{files} file{'s' if files > 1 else ''}"
    head = f"{severity_of(first, sys.stdout)} {first.code} in {len(group)} places of {where}"
    sys.stdout.write(f"{head}\n")
    same = len({each.placed.finding.message for each in group}) == 1
    if same:
        _fill(first.message, "    ")
    for each in group[:_MANY]:
        sys.stdout.write(f"    {printable(_place(each))}\n")
        if not same:
            _fill(each.placed.finding.message, "      ")
    sys.stdout.write(f"    and {len(group) - _MANY} more\n")
    _fill(first.fix, "    -> ")


def _place(each: Shown) -> str:
    position, finding = each.placed.position, each.placed.finding
    place = f":{position.line}:{position.column}" if position else ""
    return ", ".join(filter(None, (f"{each.file}{place}", _path(finding))))


def _path(finding: Finding) -> str:
    return "" if finding.path.startswith("line ") else finding.path


def _fill(text: str, indent: str) -> None:
    wrapped = textwrap.fill(
        printable(text),
        line_width(sys.stdout),
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    sys.stdout.write(f"{wrapped}\n")


def _let_be(silenced: Silenced) -> tuple[int | None, str, Silence]:
    position = silenced.placed.position
    return position.line if position else None, silenced.placed.finding.code, silenced.silence
