"""What lint says of files that are given together: errors and warnings, and seldom notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import judged_files, lint_files
from eks_gpushare.lint.streaming import Files, judged_in_parts
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from eks_gpushare.findings.finding import Finding


def found(files: Iterable[tuple[str, str]]) -> list[Finding]:
    """What is found in files, each by its name."""
    return [finding for finding in every(files) if finding.severity != "info"]


def every(files: Iterable[tuple[str, str]]) -> list[Finding]:
    """The same with notes."""
    reports = lint_files([GivenFile(name, text) for name, text in files])
    return [finding for report in reports for finding in report.findings]


def found_in_parts(
    folder: Path, files: Mapping[str, str], declared: Declared | None = None
) -> list[Finding]:
    """What is found in files of a folder that are read part by part, as a call reads them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    parts = judged_in_parts(
        Files([str(folder)]),
        declared or Declared(),
        lambda given, everywhere: judged_files(given, None, None, everywhere),
    )
    found = [finding for part in parts for report in part.made for finding in report.findings]
    return [finding for finding in found if finding.severity != "info"]


def said(files: Mapping[str, str]) -> list[str]:
    """The codes, of files by their names."""
    return [each.code for each in found(files.items())]


def said_of(**files: str) -> list[str]:
    """The same of files whose names have `__` for a dot."""
    return said({name.replace("__", "."): text for name, text in files.items()})
