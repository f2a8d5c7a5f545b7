"""What a script installs in one arm of a choice or in another, of which one is taken."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import APPLIED_FILE, REMOVED, Pointer
from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.findings.finding import Position
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Item


def are_two_ways(one: Item, other: Item) -> bool:
    """Whether two are in different arms of one choice, so that a run installs one at most."""
    mine, theirs = _by_choice(one), _by_choice(other)
    return one.source.file == other.source.file and any(
        mine[choice].isdisjoint(theirs[choice]) for choice in mine.keys() & theirs
    )


def is_beside(script: Item, other: Item) -> bool:
    """Whether what a script installs may be there with something: with nothing of another script's.

    Of what no script installs nothing tells.
    """
    file = script.source.file
    return not file.endswith(".sh") or other.source.file == file


def _by_choice(item: Item) -> dict[Position, set[int]]:
    """The arms that something is within, of several where a function is called in these."""
    found: dict[Position, set[int]] = {}
    for choice, number in item.source.arms:
        found.setdefault(choice, set()).add(number)
    return found


def there_at_once(inventory: Inventory, found: Sequence[Daemon]) -> list[Daemon]:
    """DaemonSets that may be there at once, in their order: of two ways the first.

    Those that a script takes away are not, unless it takes away all, as one does that clears up.
    """
    gone = [each for each in inventory.of(Pointer) if each.kind == REMOVED]
    applied = _applied_files(inventory)
    kept: list[Daemon] = []
    for each in [e for e in found if not any(_takes_away(one, e.item) for one in gone)] or found:
        mine = _commands(each, applied)
        if not any(
            all(are_two_ways(a, b) for a in mine for b in _commands(other, applied))
            for other in kept
        ):
            kept.append(each)
    return kept


def _takes_away(removed: Item, item: Item) -> bool:
    """Whether a command removes something for good, and is not before it, nor of another way."""
    is_before = removed.source.file == item.source.file and _line(removed) < _line(item)
    return removed.name == item.name and not is_before and not are_two_ways(removed, item)


def _line(item: Item) -> int:
    position = getattr(item.source.document, "position", None)
    return 0 if position is None else int(position(item.source.path).line)


def _commands(daemon: Daemon, applied: Mapping[str, Sequence[Item]]) -> Sequence[Item]:
    """What applies the file that a DaemonSet stands in, or what it is of itself."""
    return applied.get(posixpath.normpath(daemon.source.file)) or [daemon.item]


def _applied_files(inventory: Inventory) -> dict[str, list[Item]]:
    """What commands apply, by the normal paths that the files may have."""
    found: dict[str, list[Item]] = {}
    for pointer in inventory.of(Pointer):
        for file in items(at(pointer.spec, "files")) if pointer.kind == APPLIED_FILE else ():
            found.setdefault(file, []).append(pointer)
    return found
