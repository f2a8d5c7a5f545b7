"""Amounts as Kubernetes writes them.

The grammar is that of https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity.
"""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))"
    r"(?P<unit>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?"
)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST = 40


def quantity(text: str) -> Fraction | None:
    """An amount such as `500m`, `4Gi` or `1e3`; None of what is none."""
    matched = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if matched is None:
        return None
    number, unit = Fraction(matched["number"]), matched["unit"]
    if unit is None:
        return number
    if unit in _BINARY:
        return number * Fraction(1024) ** (_BINARY.index(unit) + 1)
    power = _DECIMAL[unit] if unit in _DECIMAL else int(unit[1:])
    return number * Fraction(10) ** power
