"""The page of the lab: written by hand, but for the table of its findings at the end."""

from __future__ import annotations

from eks_gpushare.findings.rule import rules_in
from eks_gpushare_lab import rules

_HEAD = "| code | severity | rule | why |\n|---|---|---|---|\n"


def page(text: str) -> str:
    """The page with its table as the code has it.

    Args:
        text: the page as it is.
    """
    before, head, _ = text.partition(_HEAD)
    rows = (
        f"| {each.id} | {each.severity} | {each.title} | {each.why} [Source]({each.source}) |\n"
        for each in rules_in(rules)
    )
    return before + (head or _HEAD) + "".join(rows)
