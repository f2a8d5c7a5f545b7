"""What a YAML scalar means to the Pulumi engine.

The engine reads stack files with go-yaml v3, whose rules are neither YAML 1.1 nor quite YAML 1.2:
``yes`` is text, ``0777`` is 511, ``08`` is 8 and ``2024-01-01`` is a point in time. Values then
travel to the program as JSON, where 4.0 arrives as 4. This module knows both steps and nothing of
files; ``tests/golden/go-yaml`` holds answers of the real thing.

Sources: ``resolve.go`` of gopkg.in/yaml.v3 v3.0.1; ``object.go`` of Pulumi's
``sdk/go/common/resource/config``.
"""

from __future__ import annotations

import math
import re
from datetime import date, time
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["null", "bool", "int", "float", "str", "timestamp"]
Plain: TypeAlias = str | int | float | bool | None

TAG_PREFIX: Final = "tag:yaml.org,2002:"
"""What ``!!`` stands for at the front of a tag."""

TAGS: Final = frozenset(("str", "int", "float", "bool", "null"))
"""Names of the scalar tags that are honoured."""


class Scalar(NamedTuple):
    """One scalar as the engine understands it."""

    kind: Kind
    """The type go-yaml v3 gives it."""

    value: Plain
    """What the program receives; NaN and infinities, which no program receives, stay floats."""


_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), Scalar("null", None)),
    **dict.fromkeys(("true", "True", "TRUE"), Scalar("bool", value=True)),
    **dict.fromkeys(("false", "False", "FALSE"), Scalar("bool", value=False)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), Scalar("float", math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), Scalar("float", math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), Scalar("float", -math.inf)),
}
_NUMERIC_START: Final = frozenset("+-.0123456789")
_LONGEST_NUMBER: Final = 4000
"""Python refuses, and takes long over, integers of more digits than this."""
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[bB]([01]+)|0[oO]?([0-7]+)|0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*))"
)
_BASES: Final = {2: 2, 3: 8, 4: 16, 5: 10}
"""The base of the digits in each group of `_INTEGER`."""
_SIGN_AFTER_PREFIX: Final = re.compile(r"(0[bo])([-+])")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# After a leading point go-yaml v3 hands the text to Go's ParseFloat as it stands, and that one
# takes an underscore between two digits only.
_POINT_FLOAT: Final = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
# A time behind blanks has no zone, one behind a T must have one.
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]|( +))([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?"
    r"(?(4)|(Z|[-+][0-9]{2}:[0-9]{2})))?"
)
# What makes go-yaml v3 choose double quotes for a string of several lines. Kept as text: compiling
# it takes two milliseconds, and hardly any file has such a string.
_NO_BLOCK_SCALAR: Final = (
    " (?:[\n\u2028\u2029]|\\Z)|[^\t\n -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
)
_MAX_INT64: Final = 2**63 - 1
_MAX_UINT64: Final = 2**64 - 1
# Go's json.Marshal writes a float in full below this magnitude and with an exponent from it on;
# Python's json.loads makes an int of the one and a float of the other.
_EXPONENT_FROM: Final = 1e21


def resolve_plain(text: str) -> Scalar:
    """Resolve an unquoted, untagged scalar.

    ``text`` is the scalar's content, with line folding already done.
    """
    word = _WORDS.get(text)
    if word is not None:
        return word
    if text[0] not in _NUMERIC_START or len(text) > _LONGEST_NUMBER:
        return Scalar("str", text)
    if text[0] == ".":
        return _float(text) if _POINT_FLOAT.fullmatch(text) else Scalar("str", text)
    stamp = as_timestamp(text)
    return _number(text) if stamp is None else Scalar("timestamp", stamp)


def resolve_tagged(tag: str, text: str) -> Scalar | None:
    """Resolve a scalar that carries one of the tags ``!!str !!int !!float !!bool !!null``.

    ``tag`` is the name behind ``!!``. The answer is None where go-yaml v3 refuses, as in
    ``!!int five`` or ``!!bool yes``. Quotes make no difference to a tagged scalar.
    """
    if tag == "str":
        return Scalar("str", text)
    plain = resolve_plain(text)
    if plain.kind == tag:
        return plain
    if tag == "float" and isinstance(plain.value, int) and plain.kind == "int":
        # Of integers beyond int64 go-yaml v3 says that they are no floats.
        fits = plain.value <= _MAX_INT64
        return Scalar("float", as_program_number(float(plain.value))) if fits else None
    return None


def as_program_text(text: str) -> str | None:
    """Give the string a program receives for a scalar that is a string.

    The engine writes the file out once more while it loads it, strings of several lines as block
    scalars where it can, and go-yaml v3 loses a line break at the very start of these. One that
    starts with a tab comes out as YAML the engine cannot read again: then the answer is None.
    """
    if "\n" not in text or text[0] not in "\t\n\u2028\u2029" or re.search(_NO_BLOCK_SCALAR, text):
        return text
    return None if text[0] == "\t" else text[1:]


def as_program_number(number: float) -> int | float:
    """Give the number a program sees for a float in a config object.

    Integral values below 1e21 arrive as integers with the digits of the shortest decimal form:
    4.0 as 4, 1e3 as 1000, 18446744073709551615.0 as 18446744073709552000.
    """
    if not number.is_integer() or abs(number) >= _EXPONENT_FROM:
        return number
    return int(Decimal(repr(number)))


def as_timestamp(text: str) -> str | None:
    """Give the string a program receives for an unquoted date or time, or None if it is neither.

    ``2024-01-01`` becomes ``2024-01-01 00:00:00 +0000 UTC``. Where the time carries an offset that
    is also that of the engine's own machine, the engine writes that zone's name at the end in
    place of the repeated offset.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, _, hour, minute, second, fraction, zone = match.groups(default="")
    offset = _offset(zone)
    try:
        # Go has a year 0, a leap year as 2000 is; Python's years start at 1.
        day_of = date(int(year) or 2000, int(month), int(day))
        clock = time(int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return None
    if offset is None:
        return None
    fraction = f".{fraction[:9]}".rstrip("0").rstrip(".")
    name = "UTC" if offset == "+0000" else offset
    return f"{year}-{day_of:%m-%d} {clock}{fraction} {offset} {name}"


def _number(text: str) -> Scalar:
    """Follow the branch for scalars that start with a digit or a sign, dates aside."""
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is None and _FLOAT.fullmatch(plain):
        found = _float(plain)
        return found if found.kind == "float" else Scalar("str", text)
    if number is None:
        # 0b-1 for -0b1 is an accident of go-yaml v3, which takes the prefix off by itself.
        number = _integer(_SIGN_AFTER_PREFIX.sub(r"\2\1", plain, count=1))
    if number is None:
        return Scalar("str", text)
    # Config objects hold numbers as int64 or float64 once they have been JSON.
    return Scalar("int", number if number <= _MAX_INT64 else as_program_number(float(number)))


def _integer(text: str) -> int | None:
    """Do as Go's ParseInt and then ParseUint with base 0 and 64 bits; None if both refuse."""
    match = _INTEGER.fullmatch(text)
    if match is None or match.lastindex is None:
        return None
    sign, digits = match[1], match[match.lastindex]
    number = int(sign + digits, _BASES[match.lastindex])
    most = _MAX_INT64 if sign else _MAX_UINT64
    return number if -_MAX_INT64 - 1 <= number <= most else None


def _float(text: str) -> Scalar:
    """Convert; what Go calls out of range stays a string."""
    number = float(text)
    finite = math.isfinite(number)
    return Scalar("float", as_program_number(number)) if finite else Scalar("str", text)


def _offset(zone: str) -> str | None:
    """Write a zone as Go does; it takes 24 hours and 60 minutes for valid."""
    if zone in ("", "Z"):
        return "+0000"
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 24 or minutes > 60:  # noqa: PLR2004
        return None
    hours, minutes = divmod(60 * hours + minutes, 60)
    return f"{zone[0] if hours or minutes else '+'}{hours:02}{minutes:02}"
