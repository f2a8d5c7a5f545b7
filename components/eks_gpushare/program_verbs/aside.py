"""Where a program or policy pack prints while it is run here: to standard error, in whichever way.

Standard output has our document and nothing else.
"""

from __future__ import annotations

import atexit
import io
import os
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from eks_gpushare.cli.streams import STDERR, STDOUT, Stream, high_copy
from eks_gpushare.program.running.endings import kept_alive

if TYPE_CHECKING:
    from collections.abc import Iterator

_exit_process = os._exit  # a program may put something else in its place

_PATIENCE = 1.0
"""Seconds for which threads that a program left behind may end by themselves."""


@contextmanager
def aside() -> Iterator[None]:
    """Run a program or policy pack: whatever it prints goes to standard error.

    That holds for its threads, for processes that it starts, and for what writes to the descriptor
    itself. In a process of the command's own it holds until the end, so for exit handlers too.
    """
    process, out, err = os.getpid(), sys.stdout, sys.stderr
    moved = isinstance(out, Stream) and out.move(_end)
    restore = None if moved else _redirected()
    sys.stdout, sys.stderr = _of_program(err), _of_program(err)
    try:
        yield
    finally:
        if os.getpid() != process:  # a child that the program forked and let run on to here
            _exit_process(0)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # a program may have put anything there, or closed it
                stream.flush()
        sys.stdout, sys.stderr = out, err
        if restore is not None:
            with suppress(OSError):
                os.dup2(restore, STDOUT)
                os.close(restore)


def _redirected() -> int | None:
    """Let standard output lead to standard error; a copy of what it was."""
    try:
        before = high_copy(STDOUT)
        os.dup2(STDERR, STDOUT)
    except OSError:
        return None
    return before


class _Raw(io.RawIOBase):
    """Hands what a program prints to a text stream that it cannot close."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return STDOUT  # which leads to standard error meanwhile

    def write(self, content: Any) -> int:
        data = bytes(content)
        self._text.write(data.decode("utf-8", "backslashreplace"))
        return len(data)


def _of_program(err: Any) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(_Raw(err))
    return io.TextIOWrapper(
        buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def _end(code: int) -> NoReturn:
    """End a process of the command's own with `code`, whatever a program has left behind in it."""
    left = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.current_thread() and not thread.daemon
    ]
    for thread in left:
        thread.join(_PATIENCE / len(left))
    running = sum(thread.is_alive() for thread in left)
    if running:
        number = "a thread that is" if running == 1 else f"{running} threads that are"
        sys.stderr.write(f"eks-gpushare: the program left {number} still running; ended\n")
    out, sys.stdout = sys.stdout, sys.stderr  # for what a program wants to be run in the end
    with suppress(BaseException), kept_alive():
        atexit._run_exitfuncs()  # noqa: SLF001  (no other name for it)
    for stream in (out, sys.stderr):
        with suppress(Exception):
            stream.flush()
    _exit_process(code)
