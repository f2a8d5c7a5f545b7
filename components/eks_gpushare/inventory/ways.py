"""What a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from eks_gpushare.inventory.items import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eks_gpushare.inventory.items import Item

T = TypeVar("T")


def are_two_ways(one: Item, other: Item) -> bool:
    """Whether two are in different arms of one choice, so that a run installs one at most."""
    if not isinstance(one, Release) or not isinstance(other, Release):
        return False
    numbers = dict(other.arms)
    of_one_script = one.source.file == other.source.file
    return of_one_script and any(numbers.get(choice, arm) != arm for choice, arm in one.arms)


def in_one_way(found: Iterable[T], item: Callable[[T], Item]) -> list[T]:
    """What may be there at once, in its order: of two ways the one that is taken first.

    Args:
        found: What is there, one way or another.
        item: Tells the item of each.
    """
    kept: list[T] = []
    for each in found:
        if not any(are_two_ways(item(each), item(other)) for other in kept):
            kept.append(each)
    return kept
