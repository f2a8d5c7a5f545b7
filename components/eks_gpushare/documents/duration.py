"""Spans of time as Go writes them, and so Kubernetes, Karpenter and Pulumi.

The grammar is that of https://pkg.go.dev/time#ParseDuration, in Go 1.25.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_PART: Final = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<rest>[0-9]*))?(?P<unit>ns|us|µs|μs|ms|s|m|h)")
_DURATION: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<parts>0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
)
_NANOSECONDS: Final = {
    "ns": 1,
    **dict.fromkeys(("us", "µs", "μs"), 1000),  # both letters that look like a mu
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LEAST, _MOST = -(2**63), 2**63 - 1
LONGEST: Final = Fraction(_MOST, 10**9)
"""Seconds of the longest there is, a little over 2562047 hours."""
_MOST_CHARACTERS: Final = 200


def seconds(text: str) -> Fraction | None:
    """The seconds of a duration such as `1h30m`, `1.5s` or `0`; None of what is none."""
    matched = _DURATION.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if matched is None:
        return None
    found = sum(map(_nanoseconds, _PART.finditer(matched["parts"])))
    if matched["sign"] == "-":
        found = -found
    return Fraction(found, 10**9) if _LEAST <= found <= _MOST else None


def _nanoseconds(part: re.Match[str]) -> int:
    """Whole ones, as Go counts them: with as many digits behind a point as 64 bits hold."""
    unit, rest = _NANOSECONDS[part["unit"]], part["rest"] or ""
    while int(rest or 0) > _MOST + 1:
        rest = rest[:-1]
    return int(part["whole"] or 0) * unit + int(int(rest or 0) * (unit / 10 ** len(rest)))
