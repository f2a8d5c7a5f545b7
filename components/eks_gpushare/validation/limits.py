"""How large anything may be that somebody gives: far above what AWS, Kubernetes and NVIDIA have.

What is checked is somebody else's text, as of a pull request, and what follows is work on every
part of it. Beyond these limits nothing is looked at but the size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath, Finding

MOST_ENTRIES: Final = 1000
"""Entries of a list or mapping. Amazon EKS runs 100 node groups per cluster at most
(https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html, 2026-11)."""
MOST_IN_ALL: Final = 100_000
"""Keys and values together, as in a stack file."""
LONGEST_KEY: Final = 1000
"""Characters of a key; the longest of Kubernetes, a label's, has 317."""
LONGEST_TEXT: Final = 64 * 1024
"""Characters of a text. User data of an instance has 16 KiB
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html, 2026-11)."""
LARGEST_NUMBER: Final = 2**63
"""What the engine keeps an integer in."""
DEEPEST: Final = 100
"""Levels of nesting, as in a stack file."""
_MOST_FOUND: Final = 20


def oversized(given: object) -> list[Finding]:
    """What of plain data is larger than anything that could be meant.

    Args:
        given: The data. What is neither a mapping, list, text nor number is not looked at.
    """
    found: list[Finding] = []
    for finding in _Sizes().of((), given, 0):
        found.append(finding)
        if len(found) == _MOST_FOUND:
            break
    return found


class _Sizes:
    """Counts what it comes to."""

    def __init__(self) -> None:
        self._seen = 0

    def of(self, at: FieldPath, value: Any, depth: int) -> Iterator[Finding]:
        self._seen += 1
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT:
                yield too_large(at, f"A text of {len(value):,} characters", LONGEST_TEXT)
        elif isinstance(value, int | float):
            # What is no number, or infinite, is refused with what it stands for.
            finite = isinstance(value, int) or math.isfinite(value)
            if finite and not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
                yield too_large(at, _number(value), LARGEST_NUMBER)
        elif isinstance(value, Mapping | list | tuple):
            entries = len(value)
            if depth >= DEEPEST:
                yield too_large(at, "Such a depth of nesting", DEEPEST)
            elif entries > MOST_ENTRIES:
                what = "mapping" if isinstance(value, Mapping) else "list"
                yield too_large(at, f"A {what} of {entries:,} entries", MOST_ENTRIES)
            elif self._seen + entries > MOST_IN_ALL:
                yield too_large(at, "The number of keys and values", MOST_IN_ALL)
            else:
                yield from self._inside(at, value, depth)

    def _inside(self, at: FieldPath, value: Any, depth: int) -> Iterator[Finding]:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, inner in pairs:
            if isinstance(key, str) and len(key) > LONGEST_KEY:
                yield too_large(at, f"A key of {len(key):,} characters", LONGEST_KEY)
            else:
                yield from self.of((*at, key), inner, depth + 1)


def _number(value: float) -> str:
    if isinstance(value, int):
        digits = value.bit_length() * 3 // 10
        return f"A number of about {digits:,} digits" if value.bit_length() > 99 else f"{value:,}"  # noqa: PLR2004  (fits a line)
    return f"The number {value}"


def too_large(at: FieldPath, what: str, most: int) -> Finding:
    """What is said of something that is larger than what is read."""
    message = f"{what} is more than the {most:,} that are read."
    return shape_rules.TOO_LARGE.finding(at, message, "Make it smaller.")
