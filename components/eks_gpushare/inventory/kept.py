"""Keeping what several checks work out of the same inventory."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.inventory.inventory import Inventory

T = TypeVar("T")


def kept(function: Callable[[Inventory, str], T]) -> Callable[[Inventory, str], T]:
    """A function of an inventory and a cluster that remembers the latest inventory's results."""
    latest: list[tuple[Inventory, dict[str, T]]] = []

    @wraps(function)
    def of(inventory: Inventory, cluster: str) -> T:
        if not latest or latest[0][0] is not inventory:
            latest[:] = [(inventory, {})]
        found = latest[0][1]
        if cluster not in found:
            found[cluster] = function(inventory, cluster)
        return found[cluster]

    return of
