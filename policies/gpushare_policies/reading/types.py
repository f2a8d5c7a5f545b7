"""What an instance type costs and counts, by the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.instances import gpu_instance_types, other_instance_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.catalog.instances import InstanceType


def instance_type(name: str) -> InstanceType | None:
    """What the catalog knows of an instance type."""
    known = gpu_instance_types()
    return known[name] if name in known else other_instance_type(name)


def dearest(names: Iterable[str], region: str) -> tuple[str, float] | None:
    """Of the types that a group may start, the one that costs most, with USD per hour.

    None if the catalog has no price of any of them in the region.
    """
    prices = [
        (name, price)
        for name in names
        if (found := instance_type(name)) is not None and (price := found.price(region)) is not None
    ]
    return max(prices, key=lambda item: item[1], default=None)
