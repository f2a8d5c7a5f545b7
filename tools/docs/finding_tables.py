"""Pages written by hand, but for the table of findings at the end: of the lab, and of `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import rules_in
from eks_gpushare.live import rules as live
from eks_gpushare_lab import rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.rule import Rule

_HEAD = "| code | severity | rule | why |\n|---|---|---|---|\n"


def lab(text: str) -> str:
    """The lab's page with its table as the code has it.

    Args:
        text: the page as it is.
    """
    return _with_table(text, rules_in(rules))


def verify(text: str) -> str:
    """The same of the page of `verify`."""
    return _with_table(text, rules_in(live))


def _with_table(text: str, told: Iterable[Rule]) -> str:
    before, head, _ = text.partition(_HEAD)
    rows = (
        f"| {rule.id} | {rule.severity} | {rule.title} | {rule.why} [Source]({rule.source}) |\n"
        for rule in told
    )
    return before + (head or _HEAD) + "".join(rows)
