"""What can be wrong with a YAML text, and how a parser's complaint becomes advice."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Protocol, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indexes from the top of a text down to a value."""

LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Where YAML begins a new line."""

_HINTS: Final = (
    ("mapping values are not allowed", "indent with care, and quote a value that contains ': '"),
    ("did not find expected key", "give all keys of a mapping the same indentation"),
    ("expected <block end>", "give all keys of a mapping the same indentation"),
    ("could not find expected ':'", "write 'key: value', with a blank after the colon"),
    ("scanning a quoted scalar", "close the quote"),
    ("parsing a flow", "close the bracket and put commas between its members"),
)
_SHOWN: Final = 60


class Mark(Protocol):
    """Where PyYAML saw something; both numbers count from 0."""

    line: int
    column: int


class YamlProblem(NamedTuple):
    """One reason not to accept a text; it is reported and never raised."""

    message: str
    """What is wrong, without a final period."""

    line: int
    """Line, from 1."""

    column: int
    """Column in characters, from 1."""

    kind: str = "syntax"
    """What sort of problem: ``syntax``, ``tab``, ``character``, ``encoding``, ``size``, ``depth``,
    ``directive``, ``documents``, ``alias``, ``merge``, ``duplicate``, ``key``, ``tag``, ``scalar``,
    ``timestamp`` or ``infinite``."""

    path: Path = ()
    """The key path concerned, as far as it is known."""

    fix: str = ""
    """What to change, where the reader can tell."""


class StopReadingError(Exception):
    """Raised inside the reader only, with the problem that ends reading."""

    def __init__(self, problem: YamlProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def syntax_problem(text: str, error: Exception) -> YamlProblem:
    """Turn PyYAML's ``error`` over ``text`` into a problem with a place and perhaps a fix."""
    mark: Mark | None = getattr(error, "problem_mark", None)
    mark = mark or getattr(error, "context_mark", None)
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = LINE_BREAK.split(text)
    if line >= len(lines):
        line, column = len(lines) - 1, len(lines[-1])
    parts = [getattr(error, name, None) for name in ("context", "problem")]
    what = ", ".join(str(part) for part in parts if part) or str(error)
    if "tab character" in what or lines[line][column : column + 1] == "\t":
        message = "a tab stands where YAML allows only blanks"
        return YamlProblem(message, line + 1, column + 1, "tab", fix="indent with blanks")
    if "${" in lines[line]:
        hint = "write the value itself: a stack file has no variables, and { begins a mapping"
        return YamlProblem(f"not valid YAML: {what}", line + 1, column + 1, fix=hint)
    hint = next((fix for words, fix in _HINTS if words in what), "")
    return YamlProblem(f"not valid YAML: {what}", line + 1, column + 1, fix=hint)


def shorten(text: str) -> str:
    """Cut ``text`` to what fits into a message."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
