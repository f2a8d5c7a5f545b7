"""Properties of resources as plain values, in which what is not known yet is `UNKNOWN`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator


def plain(value: Any) -> Any:
    """A value out of properties as YAML would give it: whole numbers are integers."""
    if value is None or isinstance(value, str | bool):  # most are
        return value
    if isinstance(value, Mapping):
        return {str(key): item_of(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [item_of(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def item_of(holder: Any, key: Any) -> Any:
    """One item of properties as a plain value, `UNKNOWN` if it is not known yet."""
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN


def at_top(props: Any, key: str) -> Any:
    """A property as a plain value, None where there is none."""
    return item_of(props, key) if any(key == each for each in props) else None


def items(value: Any) -> Sequence[Any]:
    """The items of a list; nothing for anything else, `UNKNOWN` among it."""
    return value if isinstance(value, list | tuple) else ()


def mappings(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The items of a list that are mappings, with their places."""
    for index, inner in enumerate(items(value)):
        if isinstance(inner, Mapping):
            yield index, inner


def text(value: Any, otherwise: str = "") -> Any:
    """A value as text, `UNKNOWN` as it is, and `otherwise` for null and what is empty."""
    if value is UNKNOWN:
        return UNKNOWN
    return otherwise if value is None or value == "" else str(value)


def count(value: Any) -> Any:
    """A whole number, also in text; `UNKNOWN` as it is, None for anything else."""
    if value is UNKNOWN or value is None or isinstance(value, bool):
        return UNKNOWN if value is UNKNOWN else None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def with_sentinels(value: Any) -> Any:
    """A plain value as the SDK has it: with its own word for what is not known."""
    if value is UNKNOWN:
        return UNKNOWN_STRING_VALUE
    if isinstance(value, dict):
        return {key: with_sentinels(inner) for key, inner in value.items()}
    return [with_sentinels(inner) for inner in value] if isinstance(value, list) else value
