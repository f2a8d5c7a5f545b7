"""Ways to break one value, each named by what it does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = object()
"""What an operator returns where it has nothing to do."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A change of one place."""

    name: str
    """Its part of a mutant's name."""
    change: Callable[[Any, str | int], Any]
    """From what holds the place, and the place's key, to a changed copy, or `NOTHING`."""


def _of_value(name: str, new: Callable[[Any], Any]) -> Operator:
    def change(holder: Any, key: str | int) -> Any:
        value = new(holder[key])
        if value is NOTHING or value == holder[key]:
            return NOTHING
        copy = holder.copy()
        copy[key] = value
        return copy

    return Operator(name, change)


def _drop(holder: Any, key: str | int) -> Any:
    copy = holder.copy()
    del copy[key]
    return copy


def _rename(holder: Any, key: str | int) -> Any:
    if not isinstance(holder, dict):
        return NOTHING
    return {_misspelt(str(each)) if each == key else each: holder[each] for each in holder}


def _misspelt(text: str) -> str:
    """With two letters swapped, as fingers do it; one more where that changes nothing."""
    swapped = f"{text[:-2]}{text[-1:]}{text[-2:-1]}"
    return f"{text}x" if swapped == text else swapped


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 7
    if isinstance(value, str):
        return {"true": "false", "false": "true"}.get(value) or _misspelt(value)
    return NOTHING


def _by(step: int) -> Callable[[Any], Any]:
    def new(value: Any) -> Any:
        if isinstance(value, bool):
            return NOTHING
        if isinstance(value, int | float):
            return value + step
        if isinstance(value, str) and value.isdecimal():
            return str(int(value) + step)
        return NOTHING

    return new


DROP = Operator("drop", _drop)
RENAME = Operator("rename", _rename)
OTHER = _of_value("other", _other)
MORE = _of_value("one more", _by(1))
LESS = _of_value("one less", _by(-1))


def to(value: Any, name: str = "") -> Operator:
    """Set the value."""
    return _of_value(name or f"to {value}", lambda _: value)


def swap(old: str, new: str, name: str = "") -> Operator:
    """Replace a text within a text, by a regular expression."""

    def change(text: Any) -> Any:
        return re.sub(old, new, text) if isinstance(text, str) else NOTHING

    return _of_value(name or f"{old} to {new}", change)


def add(value: Any, name: str) -> Operator:
    """One more item of a list, or more keys of a mapping."""

    def change(held: Any) -> Any:
        if isinstance(held, list):
            return [*held, value]
        return {**held, **value} if isinstance(held, dict) else NOTHING

    return _of_value(name, change)
