"""What a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import Release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.items import Item


def are_two_ways(one: Item, other: Item) -> bool:
    """Whether two are in different arms of one choice, so that a run installs one at most."""
    if not isinstance(one, Release) or not isinstance(other, Release):
        return False
    numbers = dict(other.arms)
    of_one_script = one.source.file == other.source.file
    return of_one_script and any(numbers.get(choice, arm) != arm for choice, arm in one.arms)


def in_one_way(found: Iterable[Daemon]) -> list[Daemon]:
    """DaemonSets that may be there at once, in their order: of two ways the first."""
    kept: list[Daemon] = []
    for each in found:
        if not any(are_two_ways(each.item, other.item) for other in kept):
            kept.append(each)
    return kept
