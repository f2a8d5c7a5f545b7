"""Keeping what several checks work out of the same inventory."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.inventory.inventory import Inventory

T = TypeVar("T")


def kept(function: Callable[[Inventory, str], T]) -> Callable[[Inventory, str], T]:
    """A function of an inventory and a cluster whose results the inventory keeps.

    A check looks at all variants of what was read before the next check does.
    """

    @wraps(function)
    def of(inventory: Inventory, cluster: str) -> T:
        key = (function, cluster)
        if key not in inventory.kept:
            inventory.kept[key] = function(inventory, cluster)
        return cast("T", inventory.kept[key])

    return of
