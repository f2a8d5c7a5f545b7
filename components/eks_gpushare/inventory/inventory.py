"""All items that were read together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was read, in the order in which it was written."""

    items: tuple[Item, ...] = ()
    complete: bool = False
    """Whether this is all there is, as of a program, so that what is not here is nowhere.

    Of files somebody names, what is not among them may stand in others.
    """

    def of(self, kind: type[T], cluster: str | None = None) -> tuple[T, ...]:
        """The items of a kind; of one cluster only, where one is named."""
        return tuple(
            each
            for each in self.items
            if cluster in (None, each.cluster) and isinstance(each, kind)
        )

    def clusters(self) -> tuple[str, ...]:
        """The clusters that items name, each once."""
        return tuple(dict.fromkeys(each.cluster for each in self.items))
