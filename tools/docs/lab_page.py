"""The page of the lab: written by hand, but for the table of its findings at the end."""

from __future__ import annotations

from eks_gpushare_lab import codes

_HEAD = "| code | severity | rule | why |\n|---|---|---|---|\n"


def page(text: str) -> str:
    """The page with its table as the code has it.

    Args:
        text: the page as it is.
    """
    before, head, _ = text.partition(_HEAD)
    rows = (
        f"| {each.code} | {each.severity} | {each.title} | {each.why} [Source]({each.source}) |\n"
        for each in codes.CODES
    )
    return before + (head or _HEAD) + "".join(rows)
