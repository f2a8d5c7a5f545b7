"""YAML within other texts: in a script's here-documents, in the blocks of documentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.placeholders import GAP
from eks_gpushare.manifests.texts import Texts, read_texts, unreadable_character

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLE: Final = re.compile(
    r"(?<!\\)\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))"
)
_RUN: Final = re.compile(r"(?<!\\)\$\([^()\n]*\)|(?<!\\)`[^`\n]*`")


def read_snippet(text: str, file: str, line: int, column: int = 1) -> Texts:
    """The documents of a part of a file.

    Args:
        text: The part, without what it is indented by.
        file: Name of the file.
        line: Line of the file at which it begins.
        column: Column of the file at which its lines begin.
    """
    if (bad := unreadable_character(text)) is not None:
        return Texts((), (bad._replace(line=bad.line + line - 1),))

    def place(inner: Position) -> Position:
        return Position(inner.line + line - 1, inner.column + column - 1)

    return read_texts(text, file, place=place)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A here-document as the shell gives it on, with gaps for what only running it would tell."""

    def value(found: re.Match[str]) -> str:
        known = variables.get(found["braced"] or found["bare"], GAP)
        return found[0] if GAP in known or "\n" in known else known

    text = _VARIABLE.sub(value, text)
    return _RUN.sub(lambda found: GAP * len(found[0]), text)
