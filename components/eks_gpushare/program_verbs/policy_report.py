"""What a policy pack says of a stack, as text and as a report for other programs."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.findings.text import printable, wrapped
from eks_gpushare.reports.paths import placed, root_of
from eks_gpushare.reports.report import Report, ReportedRule, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pulumi_policy import Policy

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.program.policies.violations import Exempted, Judged, Violation
    from eks_gpushare.program.recording import ProgramError


_WIDTH_OF_A_LOG, _NARROWEST = 100, 20


class PolicySubject(NamedTuple):
    """What was judged."""

    name: str
    """Of the stack, or the file of a state."""
    file: str
    """What a violation is shown at where no line of a program is known."""
    lines: Mapping[str, int] = MappingProxyType({})
    """The lines of that file that resources come from, by URN."""
    notes: Sequence[str] = ()
    """What was assumed, or left out."""

    def place(self, source: str, urn: str) -> tuple[str, int]:
        """File and line of a resource; the line is 0 where none is known."""
        if urn in self.lines:
            return self.file, self.lines[urn]
        file, _, line = source.rpartition(":")
        return (file, int(line)) if file else (self.file, 0)


def as_document(subject: PolicySubject, judged: Judged) -> dict[str, Any]:
    """The same as JSON data, each with its place."""

    def placed_at(source: str, urn: str) -> dict[str, Any]:
        file, line = subject.place(source, urn)
        if not line:
            return {"file": None, "line": None}
        return {"file": placed(file, root_of(Path.cwd())).path, "line": line}

    return {
        "violations": [v.as_json() | placed_at(v.source, v.urn) for v in judged.violations],
        "exempted": [e.as_json() | placed_at(e.source, e.urn) for e in judged.exempted],
        "assumptions": list(subject.notes),
    }


def print_judged(subject: PolicySubject, judged: Judged) -> None:
    """Print it for people."""
    mandatory = sum(v.level == "mandatory" for v in judged.violations)
    verdict = "refused" if mandatory else "ok"
    unjudged = sum(bool(v.not_judged) for v in judged.violations)
    advisory = len(judged.violations) - mandatory - unjudged
    more = f", {unjudged} not judged" if unjudged else ""
    name = printable(subject.name)
    print(f"{name}: {verdict}, {mandatory} mandatory and {advisory} advisory violations{more}")
    for violation in judged.violations:
        _print(subject, violation)


def _print(subject: PolicySubject, violation: Violation) -> None:
    name = violation.urn.rpartition("::")[2] or "the stack"
    reference = f" ({violation.framework} {violation.reference})" if violation.framework else ""
    file, line = subject.place(violation.source, violation.urn)
    at = f", {_short(file)}:{line}" if line else ""
    level = "not judged" if violation.not_judged else violation.level
    head = printable(f"  {level} {violation.policy}{reference} at {name}{at}")
    print("\n".join(wrapped(head, columns(), "      ")))
    message = violation.not_judged or violation.message
    width = columns()
    print(textwrap.indent(textwrap.fill(message, max(width - 4, _NARROWEST)), "    "))
    said = violation.message_says_fix or violation.not_judged
    if violation.remediation_steps and not said:
        steps = textwrap.fill(violation.remediation_steps, max(width - 7, _NARROWEST))
        print(textwrap.indent(steps, "       ").replace("       ", "    -> ", 1))


def columns() -> int:
    """How wide a text may be: as the terminal or COLUMNS says, or as lines of a log are."""
    return shutil.get_terminal_size((_WIDTH_OF_A_LOG, 0)).columns


def _short(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def report_of(subject: PolicySubject, judged: Judged, policies: Sequence[Policy]) -> Report:
    """The same as a report, in which what is exempted is a result that counts for nothing."""
    told = {exempted.said for exempted in judged.exempted}
    results = [
        _result(subject, violation)
        for violation in judged.violations
        if violation.message not in told
    ]
    results += [_let_be(subject, exempted, judged.levels) for exempted in judged.exempted]
    return Report(
        verb="policy",
        subjects=(subject.name,),
        category=subject.name,
        rules=tuple(
            _rule(policy, judged.levels[policy.name])
            for policy in policies
            if policy.name in judged.levels
        ),
        results=tuple(results),
        notes=tuple(subject.notes),
        all_rules=True,
    )


def _result(subject: PolicySubject, violation: Violation) -> Result:
    file, line = subject.place(violation.source, violation.urn)
    says_it = violation.message_says_fix or violation.not_judged
    return Result(
        rule=violation.policy,
        level=_level(violation.level, judged=not violation.not_judged),
        message=violation.not_judged or violation.message,
        fix="" if says_it else violation.remediation_steps,
        file=file,
        line=line,
        urn=violation.urn,
        state="unjudged" if violation.not_judged else "found",
    )


def _let_be(subject: PolicySubject, exempted: Exempted, levels: Mapping[str, str]) -> Result:
    file, line = subject.place(exempted.source, exempted.urn)
    return Result(
        rule=exempted.policy,
        level=_level(levels[exempted.policy]),
        message=exempted.message,
        file=file,
        line=line,
        urn=exempted.urn,
        state="exempted",
        reason=f"{exempted.reason} Until {exempted.until}.",
    )


def _level(level: str, *, judged: bool = True) -> Severity:
    if not judged or level == "remediate":
        return "info"
    return "error" if level == "mandatory" else "warning"


def _rule(policy: Policy, level: str) -> ReportedRule:
    framework, tags = policy.framework, tuple(policy.tags or ())
    named: tuple[str, ...] = ()
    if framework is not None:
        parts = (framework.name, framework.version, framework.reference)
        named = (" ".join(part for part in parts if part),)
    severity = policy.severity.value if policy.severity is not None else ""
    return ReportedRule(
        id=policy.name,
        # What is repaired is told as a note; what cannot be is as bad as a mandatory one.
        level="error" if level in {"mandatory", "remediate"} else "warning",
        title=policy.description,
        help=policy.remediation_steps or "",
        url=policy.url or "",
        tags=(*named, *tags),
        # Only what a framework of security asks for has a score there.
        security=severity if named or tags else "",
    )


STOPPED = ReportedRule(
    id="program-stopped",
    level="error",
    title="The program runs to its end, so that what it registers can be judged.",
)
"""Stands in a report for a program that fails."""


def with_failure(report: Report, failed: ProgramError) -> Report:
    """A report with the failure of a program as one more result, at its line."""
    file, _, line = failed.source.rpartition(":")
    kind = "" if failed.type == "RunError" else f"{failed.type}: "
    result = Result(
        rule=STOPPED.id,
        level="error",
        message=f"{kind}{failed.text}",
        file=file or report.subjects[0],
        line=int(line or 0),
    )
    return replace(report, rules=(*report.rules, STOPPED), results=(*report.results, result))
