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
    from eks_gpushare.reports.report import BaselineState


_KNOWN = "the baseline has it"


class Located(NamedTuple):
    """A finding with the place that it is about."""

    finding: Finding
    file: str
    line: int | None = None
    """From 1, where it is known."""
    column: int | None = None
    """From 1, where it is known."""
    identity: str = ""
    """What it is known by within its file in later calls; empty for its place."""


def report_of(
    verb: str,
    files: Sequence[str],
    found: Iterable[Located],
    rules: Mapping[str, Rule],
    *,
    silenced: Sequence[tuple[Located, str]] = (),
    known: Sequence[Located] | None = None,
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
        known: Findings that a baseline has; None where there is none.
        notes: What was assumed or left out.
        ended: Whether all could be looked at.
    """
    found = list(found)
    every = [*found, *(each for each, _ in silenced), *(known or ())]
    new: BaselineState = "" if known is None else "new"
    ids = sorted({each.finding.code for each in every})
    return Report(
        verb=verb,
        subjects=tuple(dict.fromkeys(files)),
        rules=reported_rules(rules[each] for each in ids),
        results=(
            *(replace(result_of(each), baseline=new) for each in found),
            *(
                replace(result_of(each), state="exempted", reason=_KNOWN, baseline="unchanged")
                for each in known or ()
            ),
            *(
                replace(
                    result_of(each), state="exempted", reason=reason, in_source=True, baseline=new
                )
                for each, reason in silenced
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
        identity=located.identity,
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
