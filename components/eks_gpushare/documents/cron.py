"""Schedules as cron has them, in five fields.

Source: parser.go and spec.go of github.com/robfig/cron v3.0.1, by which Karpenter and KEDA read
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

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
_EVERY = frozenset({"*", "?"})


@dataclass(frozen=True, slots=True)
class CronTimes:
    """The minutes at which a schedule falls, on the clock of its time zone."""

    times: tuple[int, ...]
    """Minutes after midnight, in order, on each of its days."""
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """From 0, Sunday."""
    either: bool
    """Whether a day of the month or one of the week will do: where neither field is a star."""

    def falls_on(self, day: date) -> bool:
        """Whether a day is one of its own."""
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either else (of_month and of_week)


def cron_times(text: str) -> CronTimes:
    """When a schedule falls.

    Args:
        text: Five fields that have no fault.
    """
    fields = text.split()
    minutes, hours, days, months, weekdays = (
        frozenset().union(*(_part_values(part, low, high, names) for part in given.split(",")))
        for given, (_, low, high, names) in zip(fields, _FIELDS, strict=True)
    )
    return CronTimes(
        tuple(sorted(60 * hour + minute for hour in hours for minute in minutes)),
        days,
        months,
        weekdays,
        either=not (_is_star(fields[2]) or _is_star(fields[4])),
    )


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
    if whole in _EVERY:
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


def _part_values(part: str, low: int, high: int, names: tuple[str, ...]) -> range:
    whole, slash, step = part.partition("/")
    if whole in _EVERY:
        return range(low, high + 1, int(step or 1))
    first, dash, last = whole.partition("-")
    start = _value(first, low, names) or 0
    end = (_value(last, low, names) or 0) if dash else high if slash else start
    return range(start, end + 1, int(step or 1))


def _is_star(field: str) -> bool:
    """Whether it says nothing of the day: of a star with steps above one, cron makes a list."""
    parts = (part.partition("/") for part in field.split(","))
    return any(whole in _EVERY and int(step or 1) == 1 for whole, _, step in parts)
