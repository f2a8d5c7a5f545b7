"""Reading plain values whose shape nobody has checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.source import Maybe

_DIGITS: Final = 18
"""Of the longest text that is taken for a number."""


def mapping(value: Any) -> Maybe[Mapping[str, Any]]:
    """A mapping; an empty one for anything else that is known."""
    return value if isinstance(value, dict) or value is UNKNOWN else {}


def text(value: Any, otherwise: str = "") -> Maybe[str]:
    """A text; another one for anything else that is known."""
    return value if isinstance(value, str) or value is UNKNOWN else otherwise


def whole(value: Any, otherwise: int | None = None) -> Maybe[int | None]:
    """A whole number, also one in quotes."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _DIGITS:
        return int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number or value is UNKNOWN else otherwise


def mappings(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list, with their places in it."""
    if isinstance(value, list):
        yield from ((index, entry) for index, entry in enumerate(value) if isinstance(entry, dict))


def walk(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Every mapping in a value, from the top down."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, (*path, index))
