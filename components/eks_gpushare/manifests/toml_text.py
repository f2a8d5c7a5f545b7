"""Where keys stand in a text of TOML, which the standard library's reader does not tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath

_HEADER: Final = re.compile(r"[ \t]*\[\[?(?P<key>[^\[\]\n]+)\]\]?[ \t]*(?:#.*)?$")
_ENTRY: Final = re.compile(r"[ \t]*(?P<key>(?:\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z0-9_.-])+)[ \t]*=")
_STEP: Final = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+)")


def places(text: str, line: int = 1, column: int = 1) -> dict[FieldPath, Position]:
    """The place of each table and key.

    Args:
        text: The text, which is TOML.
        line: Line of the file at which it begins.
        column: Column of the file at which its lines begin.
    """
    found: dict[FieldPath, Position] = {}
    table: tuple[str, ...] = ()
    for number, each in enumerate(text.splitlines(), line):
        if (header := _HEADER.match(each)) is not None:
            table = _steps(header["key"])
            at = Position(number, header.start("key") + column)
            for length in range(1, len(table)):
                found.setdefault(table[:length], at)
            found[table] = at
        elif (entry := _ENTRY.match(each)) is not None:
            steps = (*table, *_steps(entry["key"]))
            at = Position(number, entry.start("key") + column)
            for length in range(len(table), len(steps)):
                found.setdefault(steps[: length + 1], at)
    return found


def _steps(key: str) -> tuple[str, ...]:
    return tuple(next(part for part in found if part) for found in _STEP.findall(key) if any(found))
