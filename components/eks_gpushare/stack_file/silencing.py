"""Comments of a stack file that let findings of `check` be.

Errors are none of those: the program refuses the stack for them, whatever the file says of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.facts.index import names_of
from eks_gpushare.facts.names import in_full, is_meant, only_a_cluster_says, only_a_policy_says
from eks_gpushare.findings.silenced import FAULTY_SILENCE, Comments, about_comments, comments

if TYPE_CHECKING:
    from datetime import date

    from eks_gpushare.findings.finding import Finding, Position
    from eks_gpushare.findings.silenced import Silence
    from eks_gpushare.stack_file.check import StackReport


class LetBe(NamedTuple):
    """A finding that a comment lets be."""

    finding: Finding
    line: int | None
    silence: Silence

    def as_json(self) -> dict[str, Any]:
        """As `check --json` prints it."""
        told = {"until": str(self.silence.until), "reason": self.silence.reason}
        return {**self.finding.as_json(), "names": sorted(names_of(self.finding.code)), **told}


class SilencedReport(NamedTuple):
    """A report without what comments let be."""

    report: StackReport
    away: tuple[LetBe, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The report as `check --json` prints it."""
        away = {"silenced": [silenced.as_json() for silenced in self.away]} if self.away else {}
        return {**self.report.as_json(), **away}


def silenced(report: StackReport, today: date) -> SilencedReport:
    """What of a report counts, with what is to be said of the comments themselves.

    Args:
        report: What was found in a stack file.
        today: What last days are compared with.
    """
    file = report.stack_file
    given = comments(file.text) if file is not None and report.readable else Comments()
    if file is None or given == Comments():
        return SilencedReport(report)
    kept: list[Finding] = []
    away: list[LetBe] = []
    met: list[Silence] = []
    refused: dict[Silence, list[str]] = {}
    for finding in report.findings:
        line = report.line_of(finding)
        meant = [
            one for one in given.silences if one.line == line and is_meant(finding.code, one.names)
        ]
        met += meant
        holding = next((one for one in meant if one.holds(today)), None)
        if holding is not None and finding.severity == "error":
            refused.setdefault(holding, []).append(finding.code)
            holding = None
        if holding is None:
            kept.append(finding)
        else:
            away.append(LetBe(finding, line, holding))
    others = {one for one in given.silences if any(map(_is_of_others, one.names))}
    said = [_at(*comment) for comment in about_comments(given, met, today, others)]
    said += [_at(_of_error(codes), one.place) for one, codes in refused.items()]
    # Their places are those of the file, not of its environment.
    stack_file = file._replace(findings=(*file.findings, *said))
    found = report._replace(findings=(*kept, *said), stack_file=stack_file)
    in_order = sorted(found.findings, key=lambda finding: found.line_of(finding) or 0)
    return SilencedReport(found._replace(findings=tuple(in_order)), tuple(away))


def _is_of_others(name: str) -> bool:
    """Whether a policy or `verify` finds what a name says, and `check` never does."""
    return only_a_policy_says(name) or only_a_cluster_says(name)


def _of_error(codes: list[str]) -> Finding:
    named = ", ".join(map(in_full, dict.fromkeys(codes)))
    message = (
        f"The comment does not let {named} be: it is an error, for which the program refuses the "
        "stack."
    )
    return FAULTY_SILENCE.finding((), message, "Correct what the finding is about.")


def _at(finding: Finding, place: Position) -> Finding:
    return replace(finding, path=f"line {place.line}, column {place.column}")
