"""How messages of checks are worded."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory

_WORD: Final = re.compile(r"[a-z0-9]+")
_DIGIT: Final = re.compile(r"[0-9]")
_SHORTEST: Final = 3
_CLOSE: Final = 0.8


def at_start(name: str) -> str:
    """A name at the start of a sentence: `The Deployment notebooks`."""
    return f"{name[:1].upper()}{name[1:]}"


def if_missing(inventory: Inventory) -> Severity | None:
    """The severity of what is not there: of files, it may stand in others."""
    return None if inventory.complete else "info"


def slip_for(name: str, known: Iterable[str]) -> str | None:
    """The one name that another is but for a slip of the pen, if there is one.

    Narrower than what is worth a suggestion: `l40` and `l40s`, `eu` and `us` are two things that
    there may be, `gpu-pool` and `gpu.pool`, `shared` and `sharde` are one.
    """
    found = [each for each in set(known) if each != name and _is_slip(name.lower(), each.lower())]
    return found[0] if len(found) == 1 else None


def _is_slip(one: str, other: str) -> bool:
    words, others = _WORD.findall(one), _WORD.findall(other)
    if "".join(words) == "".join(others):
        return True
    apart = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(apart) != 1:
        return False
    ((given, meant),) = apart
    return (
        not _DIGIT.search(given + meant)
        and given[0] == meant[0]
        and min(len(given), len(meant)) >= _SHORTEST
        and SequenceMatcher(None, given, meant).ratio() >= _CLOSE
    )
