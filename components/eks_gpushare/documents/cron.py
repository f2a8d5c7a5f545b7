"""Schedules as cron has them, in five fields.

Source: ParseStandard of github.com/robfig/cron v3, by which Karpenter reads them.
"""

from __future__ import annotations

import re

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_DESCRIPTORS = (
    *("@annually", "@yearly", "@monthly", "@weekly"),
    *("@daily", "@midnight", "@hourly"),
)
_NUMBER = re.compile(r"[0-9]{1,9}")


def cron_fault(text: str) -> str | None:
    """Why a text is no schedule, or None.

    Args:
        text: Five fields, or one of the words such as `@daily`.
    """
    if text.startswith("@"):
        if text in _DESCRIPTORS:
            return None
        return f"there are {', '.join(_DESCRIPTORS)}"
    if text.startswith(("TZ=", "CRON_TZ=")):
        return "it is always in UTC"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, not {len(_FIELDS)}"
    for given, (title, low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in given.split(","):
            if fault := _part_fault(part, low, high, names):
                return f"{fault} in the {title}, {given}"
    return None


def _part_fault(part: str, low: int, high: int, names: tuple[str, ...]) -> str | None:
    whole, slash, step = part.partition("/")
    if slash and (not _NUMBER.fullmatch(step) or int(step) == 0):
        return f'"{step}" is no step'
    if whole in {"*", "?"}:
        return None
    first, dash, last = whole.partition("-")
    ends = [_value(end, low, names) for end in ([first, last] if dash else [first])]
    for text, value in zip((first, last), ends, strict=False):
        if value is None:
            return f'"{text}" is no value'
        if not low <= value <= high:
            return f"{text} is not from {low} to {high}"
    known = [value for value in ends if value is not None]
    return f"{whole} runs backwards" if known[0] > known[-1] else None


def _value(text: str, low: int, names: tuple[str, ...]) -> int | None:
    if text.lower() in names:
        return low + names.index(text.lower())
    return int(text) if text.isascii() and _NUMBER.fullmatch(text) else None
