"""GitLab's report on code quality, which merge requests show beside their changes.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format (read in November 2026):
an array of a part of what Code Climate's engines print, with paths from the root of the repository.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.reports.fingerprints import with_fingerprints
from eks_gpushare.reports.paths import placed, root_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.reports.report import Report, Result

_SEVERITIES: Mapping[str, str] = {"error": "major", "warning": "minor", "info": "info"}


def gitlab(reports: Sequence[Report]) -> str:
    """Reports as one array; what is exempted or known is left out, since GitLab has no word for it.

    Args:
        reports: What was found.
    """
    root = root_of(Path.cwd())
    found = [
        _violation(result, fingerprint, report, root)
        for report in reports
        for result, fingerprint in with_fingerprints(report, root)
        if result.state != "exempted"
    ]
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def _violation(result: Result, fingerprint: str, report: Report, root: Path) -> dict[str, Any]:
    text = " ".join(filter(None, (result.message, result.fix)))
    where = result.urn.rpartition("::")[2] or result.place
    if where and where not in text:
        text = f"{where}: {text}"
    if result.state == "unjudged":
        text = f"Not judged: {text}"
    path = placed(result.file or result.subject or report.subjects[0], root).path
    return {
        "description": _whole(f"{result.rule}: {text}"),
        "check_name": result.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[result.level],
        "location": {"path": _whole(path), "lines": {"begin": result.line or 1}},
    }


def _whole(text: str) -> str:
    """A text without halves of characters, which names of files may have and JSON may not."""
    return text.encode("utf-8", "backslashreplace").decode()
