"""What the command writes to: streams that may be closed, full, narrow, or a program's as well.

Names, values and errors are other people's words. What a terminal would act upon in them is written
as escapes, whatever printed it. And what a program or policy pack prints while it is run here, in
whichever way, goes to standard error: standard output has our document and nothing else.
"""

from __future__ import annotations

import atexit
import io
import json
import math
import os
import re
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_exit_process = os._exit  # a program may put something else in its place

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_HIGH = 200
"""From here on our own descriptor is looked for: programs that close all of them begin below."""
_PATIENCE = 1.0
"""Seconds for which threads that a program left behind may end by themselves."""
_UNSAFE = re.compile(r"[^\n\t -~]")
_COLOUR = re.compile(r"\x1b\[(?:[0-4]|3[0-79]|9[0-7])?(?:;(?:[0-4]|3[0-79]|9[0-7]))*m")
"""What our own text has of a terminal's commands: weight and colour, and none that hides text."""


class OutputError(Exception):
    """What was to be printed could not be written; the text says why."""


class Stream:
    """A text stream whose text does nothing to a terminal, and that can be moved.

    Everything else is as with the stream behind it.
    """

    def __init__(self, stream: Any, *, lossy: bool = False) -> None:
        """A stream over another.

        Args:
            stream: The other.
            lossy: Whether what cannot be written is left out: there is no place to complain of
                standard error.
        """
        self._stream, self._lossy = stream, lossy
        self.moved = False

    def write(self, text: str) -> int:
        """Write a text, with what is not plain in it as escapes."""
        if _UNSAFE.search(text):
            text = self._plain(text)
        self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write out what is held back."""
        self._try(self._stream.flush)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def move(self) -> bool:
        """Go on over a descriptor of our own, and let the old one lead to standard error.

        Returns:
            Whether it was moved; where the stream behind is none of a process, it was not.
        """
        try:
            if self.moved or self._stream.fileno() != _STDOUT:
                return self.moved
            self._stream.flush()
            own = _high_copy(_STDOUT)
            os.dup2(_STDERR, _STDOUT)
        except (OSError, ValueError, AttributeError):
            return False
        self._stream = open(  # noqa: PTH123, SIM115  (open until the process ends)
            own, "w", encoding=self._stream.encoding, errors="backslashreplace", newline="\n"
        )
        self.moved = True
        return True

    def _try(self, write: Any, *text: str) -> None:
        try:
            write(*text)
        except BrokenPipeError:
            if not self._lossy:
                raise
        except (OSError, ValueError) as error:  # the latter of a stream that was closed
            if not self._lossy:
                reason = getattr(error, "strerror", None) or str(error)
                raise OutputError(reason) from None

    def _plain(self, text: str) -> str:
        if "\x1b" in text and self._is_terminal():
            parts, last = list[str](), 0
            for own in _COLOUR.finditer(text):
                parts += [self._escaped(text[last : own.start()]), own[0]]
                last = own.end()
            return "".join([*parts, self._escaped(text[last:])])
        return self._escaped(text)

    def _escaped(self, text: str) -> str:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        shown = _UNSAFE.sub(_escape, text)
        return shown.encode(encoding, "backslashreplace").decode(encoding)

    def _is_terminal(self) -> bool:
        try:
            return bool(self._stream.isatty())
        except (OSError, ValueError):
            return False


def _escape(matched: re.Match[str]) -> str:
    letter = matched[0]
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


@contextmanager
def guarded(*, own_process: bool) -> Iterator[Stream]:
    """Make `sys.stdout` and `sys.stderr` such streams for the time of a call.

    Args:
        own_process: Whether the process is the command's alone, and ends with it.
    """
    if own_process:
        _open_all()
    for name in ("COLUMNS", "LINES"):
        given = os.environ.get(name)
        if given is not None and not re.fullmatch("[0-9]{1,5}", given):
            del os.environ[name]  # a number to no terminal, and an error to those who read it
    before = sys.stdout, sys.stderr
    out, err = Stream(sys.stdout), Stream(sys.stderr, lossy=True)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        # What is printed later, as by a program's exit handlers, is not ours.
        sys.stdout, sys.stderr = (before[1] if out.moved else before[0]), before[1]


def _open_all() -> None:
    """Open what was closed, so that no file gets its number; writing to it fails as before."""
    for number in (_STDIN, _STDOUT, _STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == _STDERR else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(_STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(_STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@contextmanager
def aside() -> Iterator[None]:
    """Run a program or policy pack: whatever it prints goes to standard error.

    That holds for its threads, for processes that it starts, and for what writes to the descriptor
    itself. In a process of the command's own it holds until the end, so for exit handlers too.
    """
    process, out, err = os.getpid(), sys.stdout, sys.stderr
    moved = isinstance(out, Stream) and out.move()
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
                os.dup2(restore, _STDOUT)
                os.close(restore)


def _redirected() -> int | None:
    """Let standard output lead to standard error; a copy of what it was."""
    try:
        before = _high_copy(_STDOUT)
        os.dup2(_STDERR, _STDOUT)
    except OSError:
        return None
    return before


def _high_copy(descriptor: int) -> int:
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # so many are not allowed
        return os.dup(descriptor)


class _Raw(io.RawIOBase):
    """Hands what a program prints to a text stream that it cannot close."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _STDOUT  # which leads to standard error meanwhile

    def write(self, content: Any) -> int:
        data = bytes(content)
        self._text.write(data.decode("utf-8", "backslashreplace"))
        return len(data)


def _of_program(err: Any) -> io.TextIOWrapper:
    buffer = io.BufferedWriter(_Raw(err))
    return io.TextIOWrapper(
        buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def end(code: int, out: Stream) -> None:
    """End a process of the command's own with `code`, whatever a program has left behind in it.

    Where no program was run, it does nothing: then the process ends as any.
    """
    if out.moved:
        _end_now(code)


def _end_now(code: int) -> NoReturn:
    from eks_gpushare.program.running.endings import kept_alive

    left = [
        each
        for each in threading.enumerate()
        if each is not threading.current_thread() and not each.daemon
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


def print_json(document: object) -> None:
    """Print one JSON document. What JSON has no number for is text, as in protobuf: "NaN"."""
    try:
        text = json.dumps(document, indent=2, allow_nan=False)
    except ValueError:
        text = json.dumps(_with_texts(document), indent=2, allow_nan=False)
    sys.stdout.write(f"{text}\n")


def _with_texts(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {_with_texts(key): _with_texts(inner) for key, inner in value.items()}
    return [_with_texts(each) for each in value] if isinstance(value, list | tuple) else value
