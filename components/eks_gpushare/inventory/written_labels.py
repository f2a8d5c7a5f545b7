"""Labels that texts name together with a value, be it in a command that is not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import WRITTEN_LABEL, Pointer
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from eks_gpushare.inventory.inventory import Inventory


def values_written(inventory: Inventory, *labels: str) -> list[Any]:
    """The values that some labels have in texts, UNKNOWN among them."""
    written = (each.spec for each in inventory.of(Pointer) if each.kind == WRITTEN_LABEL)
    return [at(each, "value") for each in written if at(each, "label") in labels]
