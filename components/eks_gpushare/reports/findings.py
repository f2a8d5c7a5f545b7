"""Findings of stack files and of files of others as a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.findings.pages import is_security, page_of
from eks_gpushare.reports.report import Report, ReportedRule, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule


class Located(NamedTuple):
    """A finding with the place that it is about."""

    finding: Finding
    file: str
    line: int | None = None
    """From 1, where it is known."""
    column: int | None = None
    """From 1, where it is known."""


def report_of(
    verb: str,
    files: Sequence[str],
    found: Iterable[Located],
    rules: Mapping[str, Rule],
    *,
    silenced: Sequence[tuple[Located, str]] = (),
    notes: Sequence[str] = (),
    ended: bool = True,
) -> Report:
    """A report of findings.

    Args:
        verb: The command.
        files: All files that were looked at, whether or not something was found.
        found: The findings; each one's file is one of `files`.
        rules: Rules by id, at least those of the findings.
        silenced: Findings that comments of their files let be, with until when and why.
        notes: What was assumed or left out.
        ended: Whether all could be looked at.
    """
    found = list(found)
    every = [*found, *(placed for placed, _ in silenced)]
    ids = sorted({placed.finding.code for placed in every})
    return Report(
        verb=verb,
        subjects=tuple(dict.fromkeys(files)),
        rules=reported_rules(rules[code] for code in ids),
        results=(
            *map(result_of, found),
            *(
                replace(result_of(placed), state="exempted", reason=reason, in_source=True)
                for placed, reason in silenced
            ),
        ),
        notes=tuple(notes),
        ended=ended,
    )


def result_of(located: Located) -> Result:
    """A finding as a result."""
    finding = located.finding
    return Result(
        rule=finding.code,
        level=finding.severity,
        message=finding.message,
        fix=finding.fix,
        file=located.file,
        line=located.line or 0,
        column=located.column or 0,
        place=finding.path,
        subject=located.file,
    )


def _rule(rule: Rule) -> ReportedRule:
    return ReportedRule(
        id=rule.id,
        level=rule.severity,
        title=rule.title,
        why=rule.why,
        help=f"{rule.why} See {rule.source}",
        url=page_of(rule.id),
        security="medium" if is_security(rule.id) else "",
    )


def reported_rules(rules: Iterable[Rule]) -> tuple[ReportedRule, ...]:
    """Rules of findings as a report has them."""
    return tuple(map(_rule, rules))
