"""Going on beside a value that is not known yet: one such resource hides no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pulumi_policy.proxy import UnknownValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
U = TypeVar("U")


def over_each(items: Iterable[T], check: Callable[[T], Iterator[U]]) -> Iterator[U]:
    """What a check yields of each item.

    Raises `UnknownValueError` after all of them if one could not be judged.
    """
    unknown: UnknownValueError | None = None
    for item in items:
        try:
            found = list(check(item))
        except UnknownValueError as error:
            unknown = unknown or error
            continue
        yield from found
    if unknown is not None:
        raise unknown
