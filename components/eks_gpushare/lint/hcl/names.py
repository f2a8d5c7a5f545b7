"""What expressions refer to by names, and what stands within that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.values import is_open, number, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Node

    from eks_gpushare.lint.hcl.functions import ReadableFiles


class Names(Protocol):
    """What expressions of a place refer to."""

    @property
    def files(self) -> ReadableFiles:
        """The files that functions read."""

    def named(self, name: str) -> Any:
        """What the first name of a reference stands for."""


class Within:
    """Names with those that a `for` or a template has besides.

    Args:
        outer: The names around it.
        own: The names of its own.
    """

    def __init__(self, outer: Names, own: Mapping[str, Any]) -> None:
        self._outer, self._own = outer, own

    @property
    def files(self) -> ReadableFiles:
        """The files that functions read."""
        return self._outer.files

    def named(self, name: str) -> Any:
        """What a name stands for."""
        return self._own[name] if name in self._own else self._outer.named(name)


class OfTemplate:
    """The names in a template's file: only those that it is given."""

    def __init__(self, files: ReadableFiles, own: Mapping[str, Any]) -> None:
        self.files, self._own = files, own

    def named(self, name: str) -> Any:
        """What a name stands for."""
        return self._own.get(name, UNKNOWN)


class _Mistake:
    """The type of `MISTAKE`."""


MISTAKE: Final = _Mistake()
"""What Terraform refuses: an attribute that is not there. `try` goes on to the next."""


def got(value: Any, key: Any) -> Any:
    """What stands at a key or an index."""
    if UNKNOWN in (value, key):
        return UNKNOWN
    if isinstance(value, dict):
        name = written(key)
        return value.get(name, UNKNOWN if is_open(value) else MISTAKE)
    if isinstance(value, list):
        at = number(key)
        return value[at] if isinstance(at, int) and -1 < at < len(value) else MISTAKE
    return value.get(key) if hasattr(value, "get") else MISTAKE


def in_turn(given: dict[Any, Any] | list[Any]) -> list[tuple[Any, Any]]:
    """What a `for` goes through, with keys or indexes: of an object by the order of its keys."""
    if isinstance(given, dict):
        return sorted(given.items(), key=lambda each: str(each[0]))
    return list(enumerate(given))


def no_mistake(value: Any) -> Any:
    """A value; `UNKNOWN` of what Terraform refuses."""
    return UNKNOWN if value is MISTAKE else value


def is_value(value: Any) -> bool:
    """Whether something is a value that is known, or a mistake, and no space of names."""
    return (
        value is None
        or value is MISTAKE
        or isinstance(value, bool | int | float | str | dict | list)
    )


def are_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, of one type."""
    return type(one) is type(other) and bool(one == other)


def parted(nodes: Sequence[Node], marks: set[str]) -> list[list[Node]]:
    """Nodes between those of some kinds."""
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node.type in marks:
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


def literal_number(text: str) -> int | float:
    """A number as it is written."""
    made = float(text)
    return int(made) if made.is_integer() and "e" not in text.lower() else made
