"""Quantities as Kubernetes writes them: `8`, `500m`, `64Gi`.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
"""

from __future__ import annotations

import re
from decimal import Decimal

_QUANTITY = re.compile(
    r"(?P<number>[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_POWERS = {suffix: Decimal(10) ** (3 * at) for at, suffix in enumerate("num", -3)}
_POWERS |= {suffix: Decimal(1000) ** at for at, suffix in enumerate("kMGTPE", 1)}
_POWERS |= {f"{suffix}i": Decimal(1024) ** at for at, suffix in enumerate("KMGTPE", 1)}


def quantity(text: str) -> Decimal | None:
    """The number that a quantity stands for, None for a text that is none."""
    found = _QUANTITY.fullmatch(text) if text.isascii() else None
    if found is None:
        return None
    number, suffix = Decimal(found["number"]), found["suffix"] or ""
    if suffix in _POWERS or not suffix:
        return number * _POWERS.get(suffix, Decimal(1))
    exponent = int(suffix[1:])
    return number.scaleb(exponent) if abs(exponent) <= _LARGEST_EXPONENT else None


_LARGEST_EXPONENT = 18
"""A quantity is at most 2^63 - 1."""
