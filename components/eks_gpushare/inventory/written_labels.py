"""Labels that texts name together with a value, be it in a command that is not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import WRITTEN_LABEL, Pointer
from eks_gpushare.inventory.values import at, text
from eks_gpushare.sharing.labels import OPERANDS_LABEL, PLUGIN_OPERAND_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.nodes import NodeKind

_SWITCHES = (OPERANDS_LABEL, PLUGIN_OPERAND_LABEL)


def values_written(inventory: Inventory, *labels: str) -> list[Any]:
    """The values that some labels have in texts, UNKNOWN among them."""
    written = (each.spec for each in inventory.of(Pointer) if each.kind == WRITTEN_LABEL)
    return [at(each, "value") for each in written if at(each, "label") in labels]


def is_labelled_off(inventory: Inventory, declared: Sequence[NodeKind]) -> bool:
    """Whether a text labels the operator's plugin away from nodes that are there.

    It may be a comment that has somebody do so. Where a declaration of nodes has such a label, it
    is for these nodes, and goes by them.

    Args:
        inventory: What there is.
        declared: The nodes that are declared.
    """
    if any(label in kind.known_labels for kind in declared for label in _SWITCHES):
        return False
    return any(text(each) != "true" for each in values_written(inventory, *_SWITCHES))
