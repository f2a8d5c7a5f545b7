"""What a build shows: a bar with the time left in a terminal, a line every 15 seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress as Bars

_REFERENCE_CORES = 2  # of the machine on which versions.Tool.seconds was measured
_WIDE = 100  # columns
_TIMES_WIDTH = len(" 0:00:00 about a few seconds left ")
_TRUST_SECONDS = 20.0  # of work, until what is seen counts as much as what was expected


_BEAT_SECONDS = 15.0  # at most without a line, for as many lines as follow
_BEATS, _RARER = 20, 1.2
"""After five minutes lines come ever more rarely: a log is to be read, whatever the machine."""


class BuildProgress(Protocol):
    """Told what a build does."""

    def note(self, text: str) -> None:
        """Something that the user should know."""

    def begin(self, what: str, left: float) -> None:
        """A step begins; `left` are the seconds of all steps still to do."""

    def advance(self, detail: str, share: float, left: float) -> None:
        """The step goes on; `share` of all the work is done."""

    def end(self, what: str, seconds: float) -> None:
        """The step is done, in so many seconds."""

    def close(self) -> None:
        """Nothing more is to come."""


@dataclass(slots=True)
class Estimate:
    """How long a build will take: first as long as it took elsewhere, then as it goes here.

    Attributes:
        total: seconds of all the work on the machine where it was measured.
        done: seconds of the work that is done.
        started: when it began, in seconds of the monotonic clock.

    """

    total: float
    done: float = 0
    started: float = 0

    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 1.0

    def left(self, now: float | None = None) -> float:
        """Seconds still to go."""
        elapsed = (time.monotonic() if now is None else now) - self.started
        expected_speed = (os.cpu_count() or 1) / _REFERENCE_CORES
        speed = (self.done + _TRUST_SECONDS * expected_speed) / (elapsed + _TRUST_SECONDS)
        return max(self.total - self.done, 0) / speed


def spoken(seconds: float) -> str:
    """A duration as people say it: exact where it is short, rounded where it is a guess."""
    if seconds < 10:  # noqa: PLR2004
        return "a few seconds"
    if seconds < 90:  # noqa: PLR2004
        return f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min"


def say(text: str) -> None:
    """Write a line to standard error, which a document on standard output leaves free."""
    sys.stderr.write(f"lab: {text}\n")
    sys.stderr.flush()


class Lines:
    """A line every so many seconds, for logs: what goes on, and a new estimate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Say nothing yet.

        Args:
            clock: Seconds.
        """
        self._clock = clock
        self._said: float | None = None
        self._what = ""
        self._beats = 0

    def note(self, text: str) -> None:
        """Print it."""
        say(text)

    def begin(self, what: str, left: float) -> None:
        """Print what begins and how long everything will take, unless a line has just been said."""
        self._what = what
        self._beat("", left)

    def advance(self, detail: str, share: float, left: float) -> None:  # noqa: ARG002  (bars show it)
        """Print it again with what has changed, once it is time."""
        self._beat(f": {detail}" if detail else "", left)

    def end(self, what: str, seconds: float) -> None:
        """Print how long it took, where that is worth a line."""
        if seconds >= _BEAT_SECONDS:
            self.note(f"{what}: done in {seconds:.0f} s")
            self._said = self._clock()

    def _beat(self, detail: str, left: float) -> None:
        rarer = _RARER ** max(0, self._beats - _BEATS)
        if self._said is None or self._clock() - self._said >= _BEAT_SECONDS * rarer:
            self._beats += 1
            self.note(f"{self._what}{detail}; about {spoken(left)} left in all")
            self._said = self._clock()

    def close(self) -> None:
        """Nothing is left open."""


class Bar:
    """One bar for the whole build, drawn by the thread that builds.

    rich would draw from a thread of its own; a process that forks has to have one only.
    """

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._bars: Bars | None = None
        self._what = ""

    def note(self, text: str) -> None:
        """Print it above the bar."""
        if self._bars is None:
            say(text)
        else:
            self._bars.console.print(f"lab: {text}", highlight=False, markup=False, soft_wrap=True)

    def begin(self, what: str, left: float) -> None:
        """Show the step in the bar."""
        self._what = what
        if self._bars is None:
            self._bars = _bars()
            self._bars.start()
            self._bars.add_task(what, total=1.0, left="")
        self.advance("", self._bars.tasks[0].completed, left)

    def advance(self, detail: str, share: float, left: float) -> None:
        """Draw the bar anew."""
        if self._bars is not None:
            text = f"{self._what}: {detail}" if detail else self._what
            left_text = f"about {spoken(left)} left"
            task = self._bars.tasks[0].id
            text = _cut(text, self._bars.console.width)
            self._bars.update(task, description=text, completed=share, left=left_text)
            self._bars.refresh()

    def end(self, what: str, seconds: float) -> None:
        """Print how long it took, above the bar."""
        self.note(f"{what}: done in {seconds:.0f} s")

    def close(self) -> None:
        """Take the bar away."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


def default_progress() -> BuildProgress:
    """A bar if standard error is a terminal that can draw one, else lines."""
    return Bar() if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else Lines()


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_bar_width(console.width)),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        console=console,
        auto_refresh=False,
        transient=True,
    )


def _bar_width(width: int) -> int:
    return 24 if width >= _WIDE else 8


def _cut(text: str, width: int) -> str:
    """As much of a text as leaves room for the time that is left, which matters more."""
    room = width - _bar_width(width) - _TIMES_WIDTH
    return text if len(text) <= room else f"{text[: room - 1]}…"
