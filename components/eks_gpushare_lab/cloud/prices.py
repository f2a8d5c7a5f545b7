"""Prices that EC2 and the price list answer with.

On-demand prices are the catalog's. Spot prices change by the minute and zone and are in no catalog:
the emulation takes a fixed part of the on-demand price for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SPOT_PART = 0.4
"""What spot costs here of the on-demand price. Made up, and the same for all."""

_PRICED_REGION = "us-east-1"


def on_demand(instance_type: str, region: str) -> float | None:
    """USD per hour; that of us-east-1 where a region's is not known, None if neither is."""
    found = Catalog().find(instance_type)
    if found is None:
        return None
    return found.price(region) or found.price(_PRICED_REGION)


def spot(instance_type: str, region: str) -> float | None:
    """USD per hour; None if not even the on-demand price is known."""
    price = on_demand(instance_type, region)
    return None if price is None else round(price * SPOT_PART, 4)


def price_of(instance_type: str, region: str, *, is_spot: bool) -> float:
    """What a fleet orders its offers by; those without a price come last."""
    price = spot(instance_type, region) if is_spot else on_demand(instance_type, region)
    return float("inf") if price is None else price


def price_list(types: Iterable[str], region: str, *, metal: bool) -> Iterator[dict[str, object]]:
    """Products of the price list, as far as anybody reads them."""
    for instance_type in types:
        price = on_demand(instance_type, region)
        if price is None or instance_type.endswith(".metal") != metal:
            continue
        dimension = {"pricePerUnit": {"USD": f"{price:.10f}"}, "unit": "Hrs"}
        yield {
            "product": {"attributes": {"instanceType": instance_type, "regionCode": region}},
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
        }
