"""What checking lets through and building does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.rules.stack import NOT_BUILT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.finding import Finding


def as_deploy_errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with what this version cannot build as errors: nothing is half-built."""
    return [
        replace(each, severity="error") if each.code == NOT_BUILT.id else each for each in findings
    ]
