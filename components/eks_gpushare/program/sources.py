"""Which line of the user's own program is behind a registration or an error.

A frame belongs to the user if it lies outside of installed packages, of the standard library and of
this library (which an editable install keeps outside of ``site-packages``).
"""

from __future__ import annotations

import sysconfig
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

_FILE_SCHEME = "file://"
_OWN_PACKAGE = str(Path(__file__).parents[1])
RUNNER = str(Path(__file__).with_name("run.py"))
"""The file that runs programs: frames outside of its own are its caller's."""
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


class SourcePosition(Protocol):
    """A source position of the engine's protocol: a ``file://`` URI and a line from 1."""

    @property
    def uri(self) -> str:
        """The file."""

    @property
    def line(self) -> int:
        """The line."""


class Frame(Protocol):
    """A frame of the stack trace that the SDK sends with a registration."""

    @property
    def pc(self) -> SourcePosition:
        """Where it stands."""


@cache
def is_users(path: str) -> bool:
    """Whether the file at `path` belongs to the user's program."""
    if not path or path.startswith("<"):
        return False
    parts = Path(path).parts
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return not any(
        Path(path).is_relative_to(folder) for folder in (_OWN_PACKAGE, _STANDARD_LIBRARY)
    )


@cache
def _path_of(uri: str) -> str:
    return unquote(uri.removeprefix(_FILE_SCHEME)) if uri.startswith(_FILE_SCHEME) else ""


def line_of_registration(frames: Iterable[Frame]) -> str:
    """``file:line`` of the innermost frame that is the user's, ``""`` if there is none.

    `frames` come innermost first; from the runner on they are its caller's.
    """
    for frame in frames:
        path = _path_of(frame.pc.uri)
        if path == RUNNER:
            break
        if is_users(path):
            return f"{path}:{frame.pc.line}"
    return ""


def line_of_error(error: BaseException, program_dir: Path | None) -> str:
    """``file:line`` of the user's code that led to `error`, ``""`` if none is known.

    The innermost line inside `program_dir` is taken, else the innermost one of the user's that lies
    elsewhere. An error that carries a ``source`` of its own (one that a registration met, where no
    traceback shows the program) is believed. Causes are looked through as well.
    """
    for link in _chain(error):
        source = getattr(link, "source", "")
        if isinstance(source, str) and source:
            return source
    elsewhere = ""
    for link in _chain(error):
        for path, line in _users_frames(link.__traceback__):
            if program_dir is None or Path(path).is_relative_to(program_dir):
                return f"{path}:{line}"
            elsewhere = elsewhere or f"{path}:{line}"
    return elsewhere or _line_of_syntax_error(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _users_frames(trace: TracebackType | None) -> list[tuple[str, int]]:
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(trace)
        if is_users(frame.f_code.co_filename)
    ]
    return frames[::-1]


def _line_of_syntax_error(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return ""
