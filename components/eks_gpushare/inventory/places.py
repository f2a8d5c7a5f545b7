"""Where in an item's source a value stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.items import Release


def value_place(release: Release, path: tuple[str, ...]) -> FieldPath:
    """The place of a chart's value below the release's source, also of one that is not given."""
    for length in (*range(len(path), 0, -1), 0):
        found = release.paths.get(path[:length])
        if found is not None:
            above = release.source.path
            below = found[len(above) :] if found[: len(above)] == above else found
            return (*below, *path[length:])
    return path
