"""What a program may do to end its process, which while it is run here is not its own."""

from __future__ import annotations

import os
import posix
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXITS = ("_exit", "abort", "execv", "execve")
"""All of `os.exec*` come down to the last two."""
_SENDS = ("kill", "killpg")


class ProcessEndedError(SystemExit):
    """A program tried to end the process.

    No `except Exception` of its own may stop that, an event loop ends at once, and a thread that
    raises it says nothing.
    """


@contextmanager
def kept_alive() -> Iterator[list[ProcessEndedError]]:
    """Make calls that would end the process end the program, with an error that says so.

    Without it nothing would be printed, and `os._exit(0)` would read as success. Processes that the
    program forks end as they like. Yields what was tried, also in threads, where raising ends the
    thread alone.
    """
    tried: list[ProcessEndedError] = []
    # C functions: `from posix import _exit` finds them too, in a module of its own.
    places = [(module, name) for module in (os, posix) for name in (*_EXITS, *_SENDS)]
    before = [(module, name, getattr(module, name)) for module, name in places]
    before.append((signal, "raise_signal", signal.raise_signal))
    for module, name, original in before:
        setattr(module, name, _instead(name, original, tried))
    try:
        yield tried
    finally:
        for module, name, original in before:
            setattr(module, name, original)


def _instead(
    name: str, original: Callable[..., Any], tried: list[ProcessEndedError]
) -> Callable[..., Any]:
    """A function that raises where `original` would end the process that it was made in."""
    process = os.getpid()

    def called(*args: Any, **kwargs: Any) -> Any:
        if os.getpid() != process or not _is_the_end(name, args):
            return original(*args, **kwargs)
        shown = ", ".join(repr(argument)[:40] for argument in args[:2])
        error = ProcessEndedError(f"the program called {name}({shown}), which ends its process")
        tried.append(error)
        raise error

    return called


def _is_the_end(name: str, args: tuple[Any, ...]) -> bool:
    if name in _EXITS:
        return True
    if not all(isinstance(argument, int) for argument in args):
        return False  # which the call itself refuses
    match args:
        case (number,) if name == "raise_signal":
            return _ends(number)
        case (to, number):
            return _is_own(name, to) and _ends(number)
    return False


@contextmanager
def own_signals() -> Iterator[None]:
    """Put back how signals are handled, and end what alarm a program has set."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPIPE)
    try:
        before = [(number, signal.getsignal(number)) for number in numbers]
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            # In a thread that is not the main one a program cannot have changed it, nor can we.
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _is_own(name: str, to: int) -> bool:
    if name == "killpg":
        return to in {0, os.getpgrp()}
    return to in {0, -1, os.getpid(), -os.getpgrp()}


def _ends(number: int) -> bool:
    """Whether a signal would end this process: no handler takes it, and it does not pass."""
    passing = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    if number == 0 or number in passing:
        return False
    try:
        return signal.getsignal(number) is signal.SIG_DFL or number in {
            signal.SIGKILL,
            signal.SIGSTOP,
        }
    except ValueError:  # no signal at all: the call says so
        return False
