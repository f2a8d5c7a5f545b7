"""YAML within other texts: in a script's here-documents, in the blocks of documentation."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.texts import Texts, read_texts, unreadable_character

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.manifests.document import Document

_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))")
_EXPANDS: Final = re.compile(r"\$[A-Za-z_{(]|`")
_PLACEHOLDER: Final = re.compile(r"<[A-Za-z][^<>]*>")


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


def filled(document: Document, variables: Mapping[str, str]) -> Document:
    """The document with variables filled in, UNKNOWN where they are not known."""
    return replace(document, value=_filled(document.value, variables))


def without_placeholders(document: Document) -> Document:
    """The document with UNKNOWN for values such as `<name of the node>`."""
    return replace(document, value=_placeholders(document.value))


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {_key(key, variables): _filled(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(inner, variables) for inner in value]
    if not isinstance(value, str) or not _EXPANDS.search(value):
        return value
    text = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), value)
    if not _EXPANDS.search(text):
        return int(text) if text.isascii() and text.isdecimal() else text
    # A text of several lines is a configuration or a script, of which the rest is known.
    return text if "\n" in text.strip() else UNKNOWN


def _key(key: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), key)


def _placeholders(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _placeholders(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_placeholders(inner) for inner in value]
    if isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
        return UNKNOWN
    return value
