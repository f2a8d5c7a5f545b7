"""Amounts as Kubernetes writes them.

The grammar is that of https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

_QUANTITY = re.compile(
    r"(?P<number>[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))"
    r"(?P<unit>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?"
)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST = 40
_NANO = 10**9
_MOST = Fraction(2**63 - 1)


@lru_cache(maxsize=1024)
def quantity(text: str) -> Fraction | None:
    """An amount such as `500m`, `4Gi` or `1e3`; None of what is none.

    As in Kubernetes none is finer than a billionth, up to which smaller ones count, and with a
    binary unit none is greater than 2^63 - 1.
    """
    matched = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if matched is None:
        return None
    number, unit = Fraction(matched["number"]), matched["unit"]
    if unit in _BINARY:
        number = min(max(number * 1024 ** (_BINARY.index(unit) + 1), -_MOST), _MOST)
    elif unit is not None:
        number *= Fraction(10) ** (_DECIMAL[unit] if unit in _DECIMAL else int(unit[1:]))
    if _NANO % number.denominator:
        number = Fraction(ceil(abs(number) * _NANO), _NANO) * (1 if number > 0 else -1)
    return number
