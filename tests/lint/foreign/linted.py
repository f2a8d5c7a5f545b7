"""What lint says of files that are given together: errors and warnings, and no notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.findings.finding import Finding


def found(files: Iterable[tuple[str, str]]) -> list[Finding]:
    """What is found in files, each by its name."""
    return [
        finding
        for report in lint_files([GivenFile(name, text) for name, text in files])
        for finding in report.findings
        if finding.severity != "info"
    ]


def said(files: Mapping[str, str]) -> list[str]:
    """The codes, of files by their names."""
    return [each.code for each in found(files.items())]


def said_of(**files: str) -> list[str]:
    """The same of files whose names have `__` for a dot."""
    return said({name.replace("__", "."): text for name, text in files.items()})
