"""What is said while a program of another language is compiled and run."""

from __future__ import annotations

import os
import sys
import time

_FIRST_SECONDS = 5.0
_NEXT_SECONDS = 30.0


class RunProgress:
    """Says on standard error that the run goes on, and how far it is.

    On a terminal one line is written over; in a log there is a line now and then.
    """

    def __init__(self, what: str) -> None:
        """Begin.

        Args:
            what: Is done, as in `running the nodejs program`.
        """
        self._what, self._begun = what, time.monotonic()
        # While a program runs, sys.stderr is what it prints to; this is the terminal itself.
        out = sys.__stderr__
        self._terminal = out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
        self._next = 1.0 if self._terminal else _FIRST_SECONDS
        self._width = 0

    def tell(self, registered: int) -> None:
        """Say it if it is time.

        Args:
            registered: Resources so far.
        """
        passed = time.monotonic() - self._begun
        if passed < self._next:
            return
        self._next = passed + (1.0 if self._terminal else _NEXT_SECONDS)
        word = "resource" if registered == 1 else "resources"
        number = f", {registered} {word}" if registered else ""
        text = f"eks-gpushare: {self._what}: {passed:.0f} s{number}"
        if self._terminal:
            self._over(text)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._over("")

    def _over(self, text: str) -> None:
        padding = " " * max(0, self._width - len(text))
        self._width = len(text)
        out = sys.__stderr__
        if out is not None:
            out.write(f"\r{text}{padding}\r")
            out.flush()
