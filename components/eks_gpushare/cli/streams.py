"""What the command writes to: streams that may be closed, full, narrow, or a program's as well.

Names, values and errors are other people's words. What a terminal would act upon in them is written
as escapes, whatever printed it.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STDIN, STDOUT, STDERR = 0, 1, 2
_HIGH = 200
"""From here on our own descriptor is looked for: programs that close all of them begin below."""
_UNSAFE = re.compile(r"[^\n\t -~]")
_COLOUR = re.compile(r"\x1b\[(?:[0-4]|3[0-79]|9[0-7])?(?:;(?:[0-4]|3[0-79]|9[0-7]))*m")
"""What our own text has of a terminal's commands: weight and colour, and none that hides text."""


class OutputError(Exception):
    """What was to be printed could not be written; the text says why."""


class ReaderGoneError(OutputError):
    """Whoever reads the output has gone, as with `| head`.

    Not a BrokenPipeError: rich ends the process at one, with 1 as if something had been found.
    """


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
        self.at_end: Callable[[int], None] | None = None
        """Ends the process with an exit code, once the stream was moved to run a program."""

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

    def move(self, at_end: Callable[[int], None]) -> bool:
        """Go on over a descriptor of our own, and let the old one lead to standard error.

        Args:
            at_end: Ends the process with an exit code, whatever a program has left behind in it.

        Returns:
            Whether it was moved; where the stream behind is none of a process, it was not.
        """
        try:
            if self.at_end is not None or self._stream.fileno() != STDOUT:
                return self.at_end is not None
            self._stream.flush()
            own = high_copy(STDOUT)
            os.dup2(STDERR, STDOUT)
        except (OSError, ValueError, AttributeError):
            return False
        self._stream = open(  # noqa: PTH123, SIM115  (open until the process ends)
            own, "w", encoding=self._stream.encoding, errors="backslashreplace", newline="\n"
        )
        self.at_end = at_end
        return True

    def _try(self, write: Any, *text: str) -> None:
        try:
            write(*text)
        except BrokenPipeError as error:
            if not self._lossy:
                raise ReaderGoneError(str(error)) from None
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
        sys.stdout, sys.stderr = (before[1] if out.at_end else before[0]), before[1]


def _open_all() -> None:
    """Open what was closed, so that no file gets its number; writing to it fails as before."""
    for number in (_STDIN, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == STDERR else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(STDOUT, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def high_copy(descriptor: int) -> int:
    """A copy of a descriptor, beyond those that programs close."""
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # so many are not allowed
        return os.dup(descriptor)


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
