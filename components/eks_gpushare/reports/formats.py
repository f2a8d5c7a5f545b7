"""The formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.reports.report import Report

FORMATS = ("sarif", "junit", "github", "gitlab")
"""What is the same for all commands; each has a text and a JSON document of its own."""


def formatted(reports: Sequence[Report], name: str, version: str) -> str:
    """Reports in one of the formats, as a text of whole lines.

    Args:
        reports: What was found, of one call of a verb.
        name: One of `FORMATS`.
        version: Of this package.
    """
    if name == "sarif":
        from eks_gpushare.reports.sarif import sarif

        return sarif(reports, version)
    if name == "junit":
        from eks_gpushare.reports.junit import junit

        return junit(reports)
    if name == "gitlab":
        from eks_gpushare.reports.gitlab import gitlab

        return gitlab(reports)
    from eks_gpushare.reports.github import github

    return github(reports)
