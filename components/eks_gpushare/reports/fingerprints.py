"""What results are known by in later runs, wherever their lines have gone meanwhile."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from eks_gpushare.reports.paths import placed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eks_gpushare.reports.report import Report, Result


def with_fingerprints(report: Report, root: Path) -> Iterator[tuple[Result, str]]:
    """Each result with what it is known by.

    Args:
        report: The report.
        root: Of the repository, from which paths begin.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for result in report.results:
        key = (result.rule, result.urn or _about(result, root))
        seen[key] += 1
        text = "\0".join((*key, str(seen[key])))
        yield result, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _about(result: Result, root: Path) -> str:
    if result.identity:
        return f"{placed(result.file, root).path}\0{result.identity}"
    return f"{result.subject or result.file}\0{result.place}"
