"""Regular expressions that Go's programs take, where Python's are more than that.

Source: https://github.com/google/re2/wiki/Syntax and Go's regexp/syntax, whose `maxSize` of repeats
is 1,000, also of one within another; read November 2026.
"""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from typing import Final

_TOKENS: Final = re.compile(
    r"\\(?P<escape>.)|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|(?P<flags>\(\?[a-zA-Z-]+\))"
    r"|(?P<group>\(\?(?:P[<=>]|<[=!]?|[a-zA-Z-]*:|.))"
    r"|(?P<open>\()|(?P<close>\))|\{(?P<least>[0-9]+)(?P<most>,[0-9]*)?\}|(?P<repeat>[*+?])|.",
    re.DOTALL,
)
_GROUPS: Final = re.compile(r"\(\?(P<|<|[imsU-]*[:)])")
_ESCAPES: Final = "123456789ZNuU"
"""What a backslash makes special to Python, and an error to Go."""
_MOST_REPEATS: Final = 1000


def go_expression_fault(text: str) -> str | None:
    """Why an expression is none to Go, as the rest of a sentence about it; None if it is one.

    Args:
        text: The expression.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of what means more elsewhere
            re.compile(text)
    except re.error as error:
        return f"is no regular expression: {error}."
    found = list(_TOKENS.finditer(text))
    for token, after in pairwise([*found, None]):
        assert token is not None  # noqa: S101  (only the last is, and it comes after one)
        strange = _strange(token, after)
        if strange:
            return f"has {strange} in it, which expressions of Go do not know."
    if (most := _repeats(found)) > _MOST_REPEATS:
        return f"repeats something {most:,} times, and expressions of Go {_MOST_REPEATS:,} times."
    return None


def _strange(token: re.Match[str], after: re.Match[str] | None) -> str:
    """What of a token Go does not know."""
    if token["escape"] and token["escape"] in _ESCAPES:
        return token[0]
    group = token["group"] or token["flags"]
    if group and not _GROUPS.fullmatch(group):
        return group
    repeats = token["repeat"] or token["least"]
    if repeats and after is not None and after["repeat"] == "+":
        return f"{token[0]}+"
    return ""


def _repeats(tokens: list[re.Match[str]]) -> int:
    """How often something is repeated at most, by repeats within repeats."""
    most, open_, inner = 1, [1], 1
    for token in tokens:
        if token["open"] or token["group"]:
            open_.append(1)
            inner = 1
        elif token["close"]:
            inner = open_.pop() if len(open_) > 1 else 1
            open_[-1] = max(open_[-1], inner)
        elif token["least"]:
            count = int(token["most"][1:] or token["least"]) if token["most"] else 0
            inner *= max(count, int(token["least"]), 1)
            open_[-1] = max(open_[-1], inner)
            most = max(most, inner)
        else:
            inner = 1
    return most
