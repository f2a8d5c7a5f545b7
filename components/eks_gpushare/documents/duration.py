"""Spans of time as Go writes them, and so Kubernetes, Karpenter and Pulumi.

The grammar is that of https://pkg.go.dev/time#ParseDuration, in Go 1.25.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"(?P<sign>[+-]?)(?P<parts>0|(?:{_PART.pattern})+)")
_SECONDS: Final = {
    "ns": Fraction(1, 10**9),
    **dict.fromkeys(("us", "µs", "μs"), Fraction(1, 10**6)),  # both letters that look like a mu
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_LEAST: Final = Fraction(-(2**63), 10**9)
LONGEST: Final = Fraction(2**63 - 1, 10**9)
"""Seconds of the longest there is, a little over 2562047 hours."""
_MOST_CHARACTERS: Final = 200


def seconds(text: str) -> Fraction | None:
    """The seconds of a duration such as `1h30m`, `1.5s` or `0`; None of what is none."""
    matched = _DURATION.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if matched is None:
        return None
    parts = _PART.findall(matched["parts"])
    found = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction())
    if matched["sign"] == "-":
        found = -found
    return found if _LEAST <= found <= LONGEST else None
