"""Words that somebody wrote, and those that were meant."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE: Final = 0.8
_LONGEST: Final = 80


def plain(word: str) -> str:
    """A key without case, dashes and underscores."""
    return word.lower().replace("-", "").replace("_", "")


def close_to(word: str, words: Iterable[str]) -> str | None:
    """The word that was meant for certain, if there is one."""
    return _meant(word, tuple(words))


@lru_cache(maxsize=1024)
def _meant(word: str, words: tuple[str, ...]) -> str | None:
    by_plain = {plain(known): known for known in words}
    folded = plain(word)
    if folded in by_plain:
        return by_plain[folded]
    close = difflib.get_close_matches(folded, by_plain, cutoff=_CLOSE)
    return by_plain[close[0]] if close else None


def shown(value: Any) -> str:
    """A value as messages show it."""
    if value is UNKNOWN:
        return "not known"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "empty"
    text = str(value)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f'"{text}"' if isinstance(value, str) else text
