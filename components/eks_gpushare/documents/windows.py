"""Spans of time between two schedules of cron, as KEDA has them.

KEDA asks which of both falls next: while it is the end, it is open. So a second end in
a row opens it for all the time between them, and a second start closes it; where both fall
together it is open until then; a start that never falls opens it forever.

Source: pkg/scalers/cron_scaler.go of https://github.com/kedacore/keda at v2.20.2, read 2026-11-25.
"""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from eks_gpushare.documents.cron import CronTimes, cron_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FIRST = date(2029, 1, 1)
"""A Monday."""
_DAYS = 28 * 365 + 7
"""After 28 years the days of the week fall on the same days of the year; they are whole weeks."""
_CLOCK_YEARS = 4
_MINUTES = 24 * 60
_WHOLE_DAY = (1 << _MINUTES) - 1
_ALWAYS_KNOWN = frozenset({"UTC", "Etc/UTC"})


class _Event(NamedTuple):
    minute: int
    """After midnight."""
    is_start: bool


class ZonedWindow(NamedTuple):
    """Two schedules without a fault, and the clock that they are on."""

    start: str
    end: str
    zone: str


def is_guessed(name: str) -> bool:
    """Whether the hours of a zone are taken for those of UTC: Python finds no database here."""
    return not _zones() and name not in _ALWAYS_KNOWN


def zone_fault(name: str) -> str | None:
    """Why a text names no time zone that KEDA finds, and what comes next to it; None if it does."""
    known = _zones()
    if not known or name in known:  # without a database nobody can say
        return None
    by_folded = {each.casefold(): each for each in known}
    wanted = name.strip().replace(" ", "_").casefold()
    cities = (each for each in sorted(known) if each.casefold().endswith(f"/{wanted}"))
    near = by_folded.get(wanted) or next(cities, None)
    return f"Write {near}." if near else "Write one like Europe/Berlin, America/New_York or UTC."


@cache
def window_fault(start: str, end: str) -> str | None:
    """What keeps KEDA from seeing a window as it is meant, or None.

    Args:
        start: Five fields of cron, without a fault.
        end: Likewise.
    """
    times = _Times.of(start, end)
    for called, given in (("start", times.starts), ("end", times.ends)):
        if not any(map(given.falls_on, _days())):
            return f"its {called} never falls"
    # Where nothing is wrong within a day, its first and last tell of what is between days.
    telling = {
        kind: events if _is_odd(events) else (*events[:1], *events[-1:])
        for kind, events in times.kinds.items()
    }
    before: tuple[date, _Event] | None = None
    for day in _days():
        for event in telling[times.kind(day)]:
            if before is not None and (fault := _clash(*before, day, event)):
                return fault
            before = day, event
    return None


def _is_odd(events: Sequence[_Event]) -> bool:
    pairs = itertools.pairwise(events)
    return any(one.minute == two.minute or one.is_start == two.is_start for one, two in pairs)


def _clash(last: date, one: _Event, day: date, two: _Event) -> str | None:
    """What is wrong with an event that comes next after another; None of the same one."""
    if (last, one) == (day, two):
        return None
    if (last, one.minute) == (day, two.minute):
        return f"start and end fall together, as on {_at(day, two)}"
    if one.is_start != two.is_start:
        return None
    kind, other, is_kept = ("start", "end", "closed") if two.is_start else ("end", "start", "open")
    return (
        f"no {other} falls between the {kind} of {_at(last, one)} and that of {_at(day, two)}, and "
        f"KEDA keeps it {is_kept} for that time"
    )


@cache
def skipped(window: ZonedWindow) -> str | None:
    """The first start or end at a time that clocks leave out when summer time begins, or None.

    KEDA leaves it out as well, so that a window is open, or closed, until the next one.
    """
    zone, times = _zone(window.zone), _Times.of(window.start, window.end)
    for day in _days(366 * _CLOCK_YEARS):
        if _offset(day + timedelta(days=1), zone) == _offset(day, zone):
            continue
        for event in times.on(day):
            on_clock = _moment(day, event)
            there = on_clock.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
            if there.replace(tzinfo=None) != on_clock:
                return f"{'start' if event.is_start else 'end'} of {_at(day, event)}"
    return None


@cache
def hours_per_week(windows: frozenset[ZonedWindow]) -> float:
    """For how many hours of a week one of several windows is open, on average over years.

    Of days on which clocks change, their midnight decides.
    """
    opened = dict[int, int]()
    for window in windows:
        zone = _zone(window.zone)
        for past, (day, minutes) in enumerate(_open_minutes(window)):
            shifted = minutes << (_MINUTES - int(_offset(day, zone) // timedelta(minutes=1)))
            for further in range(3):
                part = shifted >> (further * _MINUTES) & _WHOLE_DAY
                index = (past + further - 1) % _DAYS
                opened[index] = opened.get(index, 0) | part
    return round(sum(map(int.bit_count, opened.values())) / 60 * 7 / _DAYS, 1)


def _open_minutes(window: ZonedWindow) -> Iterator[tuple[date, int]]:
    """Of each day on its clock, the minutes in which a window is open, one a bit."""
    times = _Times.of(window.start, window.end)
    first = next(filter(None, map(times.on, _days())), ())
    is_open = bool(first) and not first[0].is_start
    masks = {
        (kind, before): _mask(events, is_open=before)
        for kind, events in times.kinds.items()
        for before in (False, True)
    }
    for day in _days():
        kind = times.kind(day)
        yield day, masks[kind, is_open]
        is_open = times.kinds[kind][-1].is_start if any(kind) else is_open


def _mask(events: Iterable[_Event], *, is_open: bool) -> int:
    found, since = 0, 0
    for event in (*events, _Event(_MINUTES, is_start=False)):
        if is_open:
            found |= (1 << event.minute) - (1 << since)
        is_open, since = event.is_start, event.minute
    return found


class _Times(NamedTuple):
    """Starts and ends of a window."""

    starts: CronTimes
    ends: CronTimes
    kinds: dict[tuple[bool, bool], tuple[_Event, ...]]
    """Those of a day, by whether it is one of starts and one of ends."""

    @classmethod
    def of(cls, start: str, end: str) -> _Times:
        starts, ends = cron_times(start), cron_times(end)
        of_day = (
            [_Event(minute, is_start=True) for minute in starts.times],
            [_Event(minute, is_start=False) for minute in ends.times],
        )
        kinds = {
            (one, two): tuple(sorted([*(of_day[0] if one else ()), *(of_day[1] if two else ())]))
            for one in (False, True)
            for two in (False, True)
        }
        return cls(starts, ends, kinds)

    def kind(self, day: date) -> tuple[bool, bool]:
        return self.starts.falls_on(day), self.ends.falls_on(day)

    def on(self, day: date) -> tuple[_Event, ...]:
        return self.kinds[self.kind(day)]


def _moment(day: date, event: _Event) -> datetime:
    """On the clock of its zone."""
    return datetime.combine(day, time()) + timedelta(minutes=event.minute)


def _at(day: date, event: _Event) -> str:
    return f"{day:%a} {day.day} {_moment(day, event):%B %Y, %H:%M}"


def _offset(day: date, zone: tzinfo) -> timedelta:
    return datetime.combine(day, time(), zone).utcoffset() or timedelta()


def _days(count: int = _DAYS) -> Iterable[date]:
    return (_FIRST + timedelta(days=past) for past in range(count))


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
