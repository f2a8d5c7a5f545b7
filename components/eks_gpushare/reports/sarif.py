"""SARIF 2.1.0, as code scanning takes it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, and what GitHub reads of it:
https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning
(read in November 2026). Files are relative to the root of the repository and bear no path of the
machine, so the same findings give the same document everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.reports.paths import placed, root_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.reports.report import Report, ReportedRule, Result

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_HOME = "https://github.com/eks-gpushare/eks-gpushare"
_ROOT = "%SRCROOT%"
"""The name that readers of SARIF give the root of a repository."""

_LEVELS: Mapping[str, str] = {"error": "error", "warning": "warning", "info": "note"}
_SCORES: Mapping[str, str] = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
"""Scores in the middle of the ranges that GitHub calls so."""


def sarif(reports: Sequence[Report], version: str) -> str:
    """Reports as the runs of a SARIF document.

    Args:
        reports: What was found.
        version: Of this package.
    """
    runs = [_run(report, version) for report in reports]
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(_whole(document), indent=2, allow_nan=False) + "\n"


def _run(report: Report, version: str) -> dict[str, Any]:
    numbers = {rule.id: number for number, rule in enumerate(report.rules)}
    root = root_of(Path.cwd())
    told = ("eks-gpushare", report.verb, report.category)
    return {
        "tool": {
            "driver": {
                "name": "eks-gpushare",
                "version": version,
                "informationUri": _HOME,
                "rules": [_rule(rule) for rule in report.rules],
            }
        },
        # One run replaces the one before of the same category, and no other.
        "automationDetails": {"id": "/".join(filter(None, told)) + "/"},
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(result, numbers[result.rule], prints, report, root)
            for result, prints in _with_fingerprints(report)
        ],
    }


def _whole(value: Any) -> Any:
    """The same without halves of characters, which names of files may have and JSON may not."""
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _invocation(report: Report) -> dict[str, Any]:
    notes = [{"level": "note", "message": {"text": note}} for note in report.notes]
    told: dict[str, Any] = {"executionSuccessful": report.ended}
    return {**told, "toolExecutionNotifications": notes} if notes else told


def _rule(rule: ReportedRule) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why or rule.title},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }
    # GitHub shows no rule without a help.
    helped = rule.help or rule.why or rule.title
    told["help"] = {"text": helped, "markdown": _markdown(rule, helped)}
    if rule.url:
        told["helpUri"] = rule.url
    properties: dict[str, Any] = {"precision": "very-high", "problem.severity": _problem(rule)}
    if rule.tags or rule.security:
        properties["tags"] = list(
            dict.fromkeys([*(["security"] * bool(rule.security)), *rule.tags])
        )
    if rule.security:
        properties["security-severity"] = _SCORES[rule.security]
    told["properties"] = properties
    return told


def _problem(rule: ReportedRule) -> str:
    return {"error": "error", "warning": "warning", "info": "recommendation"}[rule.level]


def _markdown(rule: ReportedRule, helped: str) -> str:
    more = f"\n\n[{rule.id}]({rule.url})" if rule.url else ""
    return f"{rule.title}\n\n{helped}{more}" if helped != rule.title else f"{helped}{more}"


def _with_fingerprints(report: Report) -> Iterator[tuple[Result, str]]:
    """Each result with what it is known by in later runs, wherever its line has gone meanwhile."""
    seen: Counter[tuple[str, ...]] = Counter()
    for result in report.results:
        about = result.urn or f"{result.subject or result.file}\0{result.place}"
        key = (result.rule, about)
        seen[key] += 1
        text = "\0".join((*key, str(seen[key])))
        yield result, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _result(
    result: Result, number: int, fingerprint: str, report: Report, root: Path
) -> dict[str, Any]:
    text = " ".join(filter(None, (result.message, result.fix)))
    if result.state == "unjudged":
        text = f"Not judged: {text}"
    told: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": number,
        "level": _LEVELS[result.level],
        "message": {"text": text},
        "locations": [_location(result, report, root)],
        # The second is the one that GitHub looks for; without it, it takes the text of the line,
        # and of several resources that one line makes only the first would be seen.
        "partialFingerprints": {
            "eksGpushare/v1": fingerprint,
            "primaryLocationLineHash": f"{fingerprint[:16]}:1",
        },
    }
    if result.state == "exempted":
        kind = "inSource" if result.in_source else "external"
        told["suppressions"] = [
            {"kind": kind, "status": "accepted", "justification": result.reason}
        ]
    return told


def _location(result: Result, report: Report, root: Path) -> dict[str, Any]:
    # GitHub refuses a result without a file.
    place = placed(result.file or result.subject or report.subjects[0], root)
    artifact = {"uri": place.uri, **({"uriBaseId": _ROOT} if place.inside else {})}
    physical: dict[str, Any] = {"artifactLocation": artifact}
    if result.line:
        column = {"startColumn": result.column} if result.column else {}
        physical["region"] = {"startLine": result.line, **column}
    told: dict[str, Any] = {"physicalLocation": physical}
    logical = [
        {"fullyQualifiedName": name, "kind": kind}
        for name, kind in ((result.urn, "resource"), (result.place, "member"))
        if name
    ]
    return {**told, "logicalLocations": logical} if logical else told
