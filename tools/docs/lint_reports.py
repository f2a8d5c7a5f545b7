"""What users reported of GPU sharing that was set up wrongly, each as wrong and as right files.

`tests/lint/reports` has them in two halves: `development.txt`, after which rules are written, and
`held_out.txt`, which is measured and not read. A link decides on which side its report is, so that
nobody does: `is_held_out`.

A report begins with `=== LINK`; its next line says what is wrong. `@@ NAME` begins a file, whose
lines begin with a character of their own: a space for what both have, `-` for the wrong file alone,
`+` for the right one alone. `@@ NAME < PART` is a file of `parts`, the same on both sides. A file
of which one side has nothing is not there on that side.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lint_corpus import Found

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER = Path(__file__).parents[2] / "tests" / "lint" / "reports"
HALVES = ("development", "held_out")


@dataclass(frozen=True, slots=True)
class Report:
    """One report."""

    link: str
    about: str
    wrong: Mapping[str, str]
    right: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What lint made of a report."""

    report: Report
    told: frozenset[str]
    """Codes that lint says of the wrong files more often than of the right ones."""
    alarms: tuple[Found, ...]
    """Errors and warnings about the right files."""


def is_held_out(link: str) -> bool:
    """Whether the report behind a link is of the half that is only measured."""
    return int(hashlib.sha256(link.encode()).hexdigest(), 16) % 2 == 1


@cache
def reports(half: str) -> tuple[Report, ...]:
    """The reports of a half."""
    text = (FOLDER / f"{half}.txt").read_text(encoding="utf-8")
    return tuple(_report(given) for given in text.split("=== ")[1:])


def _report(text: str) -> Report:
    head, *files = text.split("\n@@ ")
    link, about = head.strip().split("\n", 1)
    sides: dict[str, dict[str, str]] = {"-": {}, "+": {}}
    for given in files:
        name, _, body = given.partition("\n")
        name, _, part = name.partition(" < ")
        lines = [line for line in body.split("\n") if line]
        if part:
            whole = (FOLDER / "parts" / part).read_text(encoding="utf-8")
            lines = [f" {line}" for line in whole.splitlines()]
        if unknown := [line for line in lines if line[0] not in " -+"]:
            raise ValueError(f"{link}, {name}: {unknown[0]!r} begins with none of ' ', '-', '+'")
        for sign, side in sides.items():
            if kept := [line[1:] for line in lines if line[0] in (" ", sign)]:
                side[name] = "\n".join((*kept, ""))
    return Report(link, about.strip(), sides["-"], sides["+"])


def outcomes(half: str) -> tuple[Outcome, ...]:
    """What lint makes of each report of a half."""
    return tuple(outcome(half, number) for number, _ in enumerate(reports(half)))


@cache
def outcome(half: str, number: int) -> Outcome:
    """What lint makes of a report of a half, by its number there."""
    return outcome_of(reports(half)[number])


def outcome_of(report: Report) -> Outcome:
    """What lint makes of a report."""
    alarms = _linted(report.right)
    more = _counted(_linted(report.wrong)) - _counted(alarms)
    return Outcome(report, frozenset(more), alarms)


def _linted(files: Mapping[str, str]) -> tuple[Found, ...]:
    """Errors and warnings of files that are given together, as the command has them."""
    given = [GivenFile(name, text) for name, text in files.items()]
    return tuple(
        Found(report.file, None, finding.code, finding.message)
        for report in lint_files(given)
        for finding in report.findings
        if finding.severity != "info"
    )


def _counted(found: Iterable[Found]) -> Counter[str]:
    return Counter(each.code for each in found)
