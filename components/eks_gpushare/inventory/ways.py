"""What a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

import posixpath
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.findings.finding import Position
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.items import Item


def are_two_ways(one: Item, other: Item) -> bool:
    """Whether two are in different arms of one choice, so that a run installs one at most."""
    mine, theirs = _by_choice(one), _by_choice(other)
    return one.source.file == other.source.file and any(
        mine[choice].isdisjoint(theirs[choice]) for choice in mine.keys() & theirs
    )


def _by_choice(item: Item) -> dict[Position, set[int]]:
    """The arms that something is within, of several where a function is called in these."""
    found: dict[Position, set[int]] = {}
    for choice, number in item.source.arms:
        found.setdefault(choice, set()).add(number)
    return found


def in_one_way(
    found: Iterable[Daemon], applied: Mapping[str, Sequence[Item]] = MappingProxyType({})
) -> list[Daemon]:
    """DaemonSets that may be there at once, in their order: of two ways the first.

    Args:
        found: Them.
        applied: What commands apply, by the normal paths of the files.
    """
    kept: list[Daemon] = []
    for each in found:
        mine = _commands(each, applied)
        if not any(
            all(are_two_ways(a, b) for a in mine for b in _commands(other, applied))
            for other in kept
        ):
            kept.append(each)
    return kept


def _commands(daemon: Daemon, applied: Mapping[str, Sequence[Item]]) -> Sequence[Item]:
    """What applies the file that a DaemonSet stands in, or what it is of itself."""
    return applied.get(posixpath.normpath(daemon.source.file)) or [daemon.item]
