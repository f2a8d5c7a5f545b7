"""Items by a value of theirs that may not be known, for looking up one of thousands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")


def _key(value: Any) -> Any:
    """A value as a key: what nobody has checked may be a list where a text belongs."""
    return value if value is UNKNOWN or isinstance(value, str) else frozen(value)


def together(*values: Any) -> Any:
    """Several values as one to be found by: any, where one of them is not known."""
    return UNKNOWN if any(value is UNKNOWN for value in values) else tuple(map(_key, values))


class ByValue(Generic[T]):
    """Items, each found by any of its values."""

    def __init__(self, items: Iterable[T], values: Callable[[T], Iterable[Any]]) -> None:
        """Take the items; one with `UNKNOWN` among its values may have any."""
        self._items = tuple(items)
        self._found: dict[Any, list[int]] = {}
        for position, item in enumerate(self._items):
            for value in dict.fromkeys(map(_key, values(item))):
                self._found.setdefault(value, []).append(position)

    def may_have(self, *wanted: Any) -> Sequence[T]:
        """The items that have one of some values or may have it, in their order."""
        if UNKNOWN in wanted:
            return self._items
        found = {
            place for value in (*map(_key, wanted), UNKNOWN) for place in self._found.get(value, ())
        }
        return [self._items[position] for position in sorted(found)]
