"""The bytes of a file of manifests as text: never without end, never more than fits."""

from __future__ import annotations

import codecs
import os
import select
import stat
import time
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_BYTES = 16 * 1024 * 1024
"""Largest file that is read. All custom resource definitions of a big operator have a quarter."""

PIPE_SECONDS = 60.0
"""How long a pipe of this process may take, such as `--apply <(helm template ...)`."""

_PART = 1 << 16
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
"""Longest first: that of UTF-32 begins like that of UTF-16."""


class UnreadableError(Exception):
    """A file that is no text; the message says what it is instead."""


def text_of(file: str) -> str:
    """The text of a file.

    Raises:
        OSError: If it cannot be opened or read.
        UnreadableError: If it is no regular file, too large, or not UTF-8.
    """
    # Without O_NONBLOCK the open itself would wait for somebody to write to a named pipe.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            return _decoded(_whole(iter(partial(os.read, descriptor, _PART), b""), "larger"))
        if stat.S_ISFIFO(kind) and _is_own(file):
            return _decoded(_whole(_written_to(descriptor), "longer"))
    finally:
        os.close(descriptor)
    raise UnreadableError(_what(kind))


def _whole(parts: Iterable[bytes], how: str) -> bytes:
    """All parts together, unless that is larger, or longer, than what is read."""
    content = bytearray()
    for part in parts:
        content += part
        if len(content) > MAX_BYTES:
            raise UnreadableError(f"it is {how} than the {MAX_BYTES >> 20} MiB that are read")
    return bytes(content)


def _written_to(pipe: int) -> Iterator[bytes]:
    """What comes through a pipe until its writer closes it."""
    end = time.monotonic() + PIPE_SECONDS
    while True:
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            raise UnreadableError(f"nobody has ended it within {PIPE_SECONDS:.0f} s")
        part = os.read(pipe, _PART)
        if not part:
            return
        yield part


def _is_own(file: str) -> bool:
    """Whether a pipe is one that the shell has given to this process."""
    return os.path.realpath(file).startswith("/proc/")


def _what(kind: int) -> str:
    if stat.S_ISDIR(kind):
        return "it is a directory; name the files in it"
    if stat.S_ISFIFO(kind):
        return "it is a named pipe and no file"
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        return "it is a device and no file"
    return "it is no regular file"


def _decoded(data: bytes) -> str:
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            raise UnreadableError(f"it is {name}; save it as UTF-8, as kubectl wants it")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        said = f"line {line}: the byte 0x{data[error.start]:02x} is not UTF-8"
        if b"\0" in data:
            said = f"{said}, nor is it text at all"
        raise UnreadableError(said) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableError(f"line {line}: it has a byte 0: it is UTF-16, or no text at all")
    return text
