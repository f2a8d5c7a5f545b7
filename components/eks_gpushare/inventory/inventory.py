"""All items that were read together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

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

    _found: dict[tuple[type, str | None], tuple[Item, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _clusters: list[tuple[str, ...]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    kept: dict[tuple[object, str], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What functions have worked out of it, by function and cluster (`inventory.kept`)."""

    def of(self, kind: type[T], cluster: str | None = None) -> tuple[T, ...]:
        """The items of a kind; of one cluster only, where one is named."""
        if not self._found:  # checks ask for them again and again, of each of many clusters
            listed: dict[tuple[type, str | None], list[Item]] = {}
            for item in self.items:
                for within in (None, item.cluster):
                    listed.setdefault((type(item), within), []).append(item)
            self._found.update((key, tuple(items)) for key, items in listed.items())
        return cast("tuple[T, ...]", self._found.get((kind, cluster), ()))

    def clusters(self) -> tuple[str, ...]:
        """The clusters that items name, each once."""
        if not self._clusters:
            self._clusters.append(tuple(dict.fromkeys(item.cluster for item in self.items)))
        return self._clusters[0]
