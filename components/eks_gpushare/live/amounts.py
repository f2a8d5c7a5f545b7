"""Amounts of resources as numbers that can be added up and shown."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from eks_gpushare.documents import quantity as quantities


@lru_cache(maxsize=4096)  # ten thousand pods ask for a few amounts
def quantity(given: str | float) -> Decimal:
    """A Kubernetes quantity as a number: 500m is 0.5, 2Gi is 2147483648.

    Raises:
        ValueError: If it is none.
    """
    found = quantities.quantity(str(given))
    if found is None:
        raise ValueError(f"{given!r} is no quantity")
    return Decimal(found.numerator) / Decimal(found.denominator)
