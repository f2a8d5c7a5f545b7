"""IDs of resources in EC2: what they look like, and which ones only documentation has.

An ID is its prefix and 8 or, since 2016, 17 hexadecimal digits in lower case:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html, read 2026-11-22.
"""

from __future__ import annotations

import re
from itertools import pairwise

_ID = re.compile(r"([a-z]+)-([0-9a-f]{8}|[0-9a-f]{17})")
_DIGITS = "0123456789abcdef"
_EXAMPLES = ("0a1b2c3d", "1a2b3c4d", "0abcd1234", "1234abcd", "0abc123", "0fedcba9")
"""How IDs of documentation begin that are no mere sequence of digits."""
_FEW = 2


def is_id(prefix: str, text: str) -> bool:
    """Whether a text is the ID of a resource whose IDs begin with `prefix` and a dash.

    What stands for an ID while a program is run in this process counts as one: `vpc-assumed`.
    """
    if re.fullmatch(rf"{prefix}-assumed(-[0-9]+)?", text):
        return True
    matched = _ID.fullmatch(text)
    return matched is not None and matched[1] == prefix


def is_placeholder(text: str) -> bool:
    """Whether an ID of the right form is one that documentation shows and EC2 never gave.

    Digits that follow each other, one or two digits again and again: of 17 random digits that
    never happens, of 8 once in a hundred thousand.
    """
    matched = _ID.fullmatch(text)
    if matched is None:
        return False
    digits = matched[2]
    if len(set(digits)) <= _FEW or digits.startswith(_EXAMPLES):
        return True
    body = digits.lstrip("0") if digits.startswith("00") else digits
    return _counts(body, 1) or _counts(body, -1) or _counts(body[1:], 1) or _counts(body[1:], -1)


def _counts(digits: str, step: int) -> bool:
    """Whether each digit is the one after the last, 0 after f and, as in 1234567890, after 9."""
    steps = {(a, _DIGITS[(at + step) % 16]) for at, a in enumerate(_DIGITS)}
    steps |= {("9", "0"), ("0", "a")} if step == 1 else set()
    return all(pair in steps for pair in pairwise(digits))
