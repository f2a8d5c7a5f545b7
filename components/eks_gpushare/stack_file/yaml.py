"""A YAML reader that keeps positions and reads as the Pulumi engine does.

``read`` turns the text of a stack file into the plain values a program receives, remembers the
line of every key and the text every scalar was written as, and collects everything that is wrong
with the text instead of raising.

Stricter than the engine, on purpose: what the engine drops or rewrites in silence (a second
document, custom tags, dates, keys that are no strings) is a problem here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from eks_gpushare.stack_file.composer import Node, find
from eks_gpushare.stack_file.engine_yaml import EngineComposer, Value
from eks_gpushare.stack_file.yaml_problems import LINE_BREAK, Path, StopReadingError, YamlProblem

__all__ = ["MAX_BYTES", "Path", "StackDocument", "Value", "YamlProblem", "read"]

MAX_BYTES: Final = 1024 * 1024
"""Largest text that is read, in bytes; a stack file of a thousand pools has a quarter of it."""

# libyaml's own set, less the byte order mark, which inside a text is what is left of two files put
# together. Found here first, a bad character can be reported with its line. Kept as text, since
# compiling it takes milliseconds and few files hold more than ASCII.
_UNREADABLE: Final = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_NOT_ASCII_TEXT: Final = re.compile("[^\t\n\r -~]")
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class StackDocument:
    """A text that has been read, as far as it could be."""

    name: str
    """How messages call the text, usually a file name."""

    value: Value
    """The plain values. None for an empty text and for one that is not `readable`."""

    problems: tuple[YamlProblem, ...] = ()
    """Everything wrong with the text, in the order of its lines."""

    readable: bool = True
    """False if the text has no value at all; `problems` says why, and `value` is None."""

    _root: Node | None = field(default=None, repr=False, compare=False)

    def line_of(self, path: Path) -> int | None:
        """Give the line (from 1) of the key or list item at ``path``.

        Where ``path`` leads to nothing, the line of its nearest ancestor; None if the text is
        empty or unreadable.
        """
        if self._root is None:
            return None
        entry, _ = find(self._root, path)
        span = entry.key if entry else self._root.span
        return span.line + 1

    def path_at(self, line: int) -> Path:
        """Give the innermost path that stands on a line, or that began above and still goes on."""
        path: Path = ()
        node = self._root
        while node is not None:
            begun = [item for item in node.children.items() if item[1].key.line < line]
            if not begun:
                break
            step, entry = max(begun, key=lambda child: child[1].key.line)
            path, node = (*path, step), entry.node
        return path

    def raw_scalar(self, path: Path) -> str | None:
        """Give the scalar at ``path`` as written (``1.30``), without its quotes if it has any.

        None where there is no scalar.
        """
        if self._root is None:
            return None
        entry, depth = find(self._root, path)
        node = entry.node if entry else self._root
        return node.raw if depth == len(path) else None


def read(text: str | bytes, name: str = "<text>") -> StackDocument:
    """Read ``text`` (UTF-8 if bytes, a byte order mark is accepted); never raises.

    ``name`` is kept for messages and not opened.
    """
    problems: list[YamlProblem] = []
    root: Node | None = None
    readable = False
    try:
        composer = EngineComposer(_checked_text(text))
        problems = composer.problems
        root = composer.document()
        readable = composer.usable
    except StopReadingError as stop:
        problems.append(stop.problem)
    problems.sort(key=lambda problem: (problem.line, problem.column))
    root = root if readable else None
    return StackDocument(name, root.value if root else None, tuple(problems), readable, root)


def _checked_text(text: str | bytes) -> str:
    """Decode, and refuse what is too large or holds characters YAML does not allow."""
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(data) > MAX_BYTES:
        message = f"the text has {len(data):,} bytes, more than the {MAX_BYTES:,} that are read"
        raise StopReadingError(YamlProblem(message, 1, 1, "size"))
    if isinstance(text, bytes):
        text = _decoded(text)
    text = text.removeprefix(_BOM)
    unreadable = _NOT_ASCII_TEXT.search(text) and re.search(_UNREADABLE, text)
    if unreadable:
        message = f"character U+{ord(unreadable[0]):04X} is not allowed in YAML"
        fix = "remove it, or write it as an escape in double quotes"
        line, column = _position(text[: unreadable.start()])
        raise StopReadingError(YamlProblem(message, line, column, "character", fix=fix))
    return text


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line, column = _position(data[: error.start].decode())
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        fix = "save the file as UTF-8 text"
        raise StopReadingError(YamlProblem(message, line, column, "encoding", fix=fix)) from None


def _position(before: str) -> tuple[int, int]:
    """Give line and column of the character that follows ``before``."""
    ends = [match.end() for match in LINE_BREAK.finditer(before)]
    return len(ends) + 1, len(before) - (ends[-1] if ends else 0) + 1
