"""What a cluster prints of itself, as by `kubectl get -o yaml`, has much of it twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.items import Item


def without_what_controllers_made(found: Sequence[Item]) -> list[Item]:
    """The items, without pods and ReplicaSets whose controller is among them.

    Whatever is wrong with such a pod stands in its controller, and can be mended there alone.
    """
    there = {uid for item in found if (uid := _metadata(item, "uid"))}
    return [item for item in found if there.isdisjoint(_controllers(item))]


def _controllers(item: Item) -> Iterator[Any]:
    for owner in items(_metadata(item, "ownerReferences")):
        if at(owner, "controller") is True:
            yield at(owner, "uid")


def _metadata(item: Item, key: str) -> Any:
    if not isinstance(item, Workload):
        return None
    return at(getattr(item.source.document, "value", None), "metadata", key)
