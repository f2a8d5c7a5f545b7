"""JUnit's XML, as test reports of CI systems take it.

There is no one schema; this keeps to the elements and attributes that all readers know
(https://github.com/jenkinsci/xunit-plugin, `junit-10.xsd`). An error is a failure, a warning a case
that passed with something to say, and what could not be judged or is exempted a skipped case.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from eks_gpushare.reports.paths import placed, root_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.reports.report import Report, Result

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""


def junit(reports: Sequence[Report]) -> str:
    """Reports as JUnit's XML: a suite for each subject, a case for each result or passed rule."""
    suites = [_Suite(subject, report) for report in reports for subject in report.subjects]
    verbs = " ".join(dict.fromkeys(report.verb for report in reports))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    counts = {name: sum(suite.counts[name] for suite in suites) for name in _COUNTED}
    lines.append(f"<testsuites{_attributes(name=f'eks-gpushare {verbs}', **counts)}>")
    for suite in suites:
        lines += suite.lines()
    lines.append("</testsuites>\n")
    return "\n".join(lines).encode("ascii", "xmlcharrefreplace").decode("ascii")


_COUNTED = ("tests", "failures", "errors", "skipped")


class _Suite:
    """The cases of one subject."""

    def __init__(self, subject: str, report: Report) -> None:
        self._subject, self._report = subject, report
        first = report.subjects[0]
        self._results = [r for r in report.results if (r.subject or first) == subject]
        self._passed = self._rules_that_passed()
        failed = sum(_is_failure(result) for result in self._results)
        skipped = sum(result.state != "found" for result in self._results)
        tests = len(self._results) + len(self._passed)
        self.counts = {"tests": tests, "failures": failed, "errors": 0, "skipped": skipped}

    def _rules_that_passed(self) -> list[str]:
        if not self._report.ended:
            return []
        if not self._report.all_rules:
            return [] if self._results else [self._report.verb]
        broken = {result.rule for result in self._results}
        return [rule.id for rule in self._report.rules if rule.id not in broken]

    def lines(self) -> Iterator[str]:
        """The suite as XML."""
        name = f"eks-gpushare {self._report.verb} {self._subject}"
        yield f"  <testsuite{_attributes(name=name, time='0', **self.counts)}>"
        for rule in self._passed:
            yield f"    <testcase{_attributes(classname=name, name=rule, time='0')}/>"
        for result in self._results:
            title = f"{result.rule} at {_where(result)}"
            yield f"    <testcase{_attributes(classname=name, name=title, time='0')}>"
            yield f"      {_content(result)}"
            yield "    </testcase>"
        yield "  </testsuite>"


def _is_failure(result: Result) -> bool:
    return result.level == "error" and result.state == "found"


def _where(result: Result) -> str:
    return result.urn or result.place or result.file or result.subject or "the whole"


def _content(result: Result) -> str:
    line = f":{result.line}" if result.line else ""
    file = placed(result.file, root_of(Path.cwd())).path if result.file else ""
    place = f"{file}{line}" if file else ""
    text = "\n".join(filter(None, (place, result.message, result.fix)))
    if result.state == "unjudged":
        return f"<skipped{_attributes(message=f'not judged: {result.message}')}/>"
    if result.state == "exempted":
        return f"<skipped{_attributes(message=f'exempted: {result.reason}')}/>"
    if _is_failure(result):
        told = _attributes(message=result.message, type=result.rule)
        return f"<failure{told}>{escape(_xml(text))}</failure>"
    return f"<system-out>{escape(_xml(f'{result.level}: {text}'))}</system-out>"


def _attributes(**values: object) -> str:
    return "".join(f" {name}={quoteattr(_xml(str(value)))}" for name, value in values.items())


def _xml(text: str) -> str:
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
