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
_EASY_INTEGER: Final = re.compile(r"-?[1-9][0-9]{0,17}|0")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# After a leading point go-yaml v3 hands the text to Go's ParseFloat as it stands, and that one
# takes an underscore between two digits only.
_POINT_FLOAT: Final = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
_SIGN_AFTER_PREFIX: Final = re.compile(r"0([bo])([-+][0-9]+)")
_DIGITS: Final = {
    2: re.compile(r"[01]+"),
    8: re.compile(r"[0-7]+"),
    10: re.compile(r"[0-9]+"),
    16: re.compile(r"[0-9a-fA-F]+"),
}
# What makes go-yaml v3 choose double quotes for a string of several lines. Kept as text: compiling
# it takes two milliseconds, and hardly any file has such a string.
_NO_BLOCK_SCALAR: Final = (
    " (?:[\n\u2028\u2029]|\\Z)|[^\t\n -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
)
_BASES: Final = {"b": 2, "o": 8, "x": 16}
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
    if text[0] not in _NUMERIC_START:
        return Scalar("str", text)
    if _EASY_INTEGER.fullmatch(text):
        return Scalar("int", int(text))
    if text[0] == ".":
        number = _finite(text) if _POINT_FLOAT.fullmatch(text) else None
        return Scalar("str", text) if number is None else Scalar("float", as_program_number(number))
    stamp = as_timestamp(text)
    if stamp is not None:
        return Scalar("timestamp", stamp)
    return _resolve_number(text)


def resolve_tagged(tag: str, text: str) -> Scalar | None:
    """Resolve a scalar that carries one of the tags ``!!str !!int !!float !!bool !!null``.

    ``tag`` is the name behind ``!!``. The answer is None where go-yaml v3 refuses, as in
    ``!!int five`` or ``!!bool yes``. Quotes make no difference to a tagged scalar.
    """
    if tag == "str":
        return Scalar("str", text)
    plain = resolve_plain(text)
    if plain.kind == "timestamp":
        # An explicit tag other than !!timestamp keeps go-yaml from trying dates at all.
        plain = _resolve_number(text)
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
    if not math.isfinite(number) or not number.is_integer() or abs(number) >= _EXPONENT_FROM:
        return number
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return int(number)
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction + "0" * (int(exponent) - len(fraction)))


def _resolve_number(text: str) -> Scalar:
    """Follow the branch for scalars that start with a digit or a sign, dates aside."""
    plain = text.replace("_", "")
    integer = _integer(plain)
    if integer is not None:
        if integer > _MAX_INT64:
            # Config objects hold numbers as int64 or float64 once they have been JSON.
            return Scalar("int", as_program_number(float(integer)))
        return Scalar("int", integer)
    if _FLOAT.fullmatch(plain):
        number = _finite(plain)
        if number is not None:
            return Scalar("float", as_program_number(number))
    odd = _SIGN_AFTER_PREFIX.fullmatch(plain)
    if odd is not None:
        integer = _signed(odd[2], _BASES[odd[1]])
        if integer is not None:
            return Scalar("int", integer)
    return Scalar("str", text)


def _finite(text: str) -> float | None:
    """Convert; None for what Go calls out of range, which leaves the scalar a string."""
    number = float(text)
    return number if math.isfinite(number) else None


def _integer(text: str) -> int | None:
    """Do as Go's ParseInt and then ParseUint with base 0 and 64 bits; None if both refuse."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    base = 10
    digits = unsigned
    if len(unsigned) > 1 and unsigned[0] == "0":
        base = _BASES.get(unsigned[1].lower(), 0)
        digits = unsigned[2:] if base else unsigned[1:]
        base = base or 8
    if not _DIGITS[base].fullmatch(digits):
        return None
    if unsigned is text:
        magnitude = _magnitude(digits, base)
        return magnitude if magnitude is not None and magnitude <= _MAX_UINT64 else None
    return _signed(text[0] + digits, base)


def _signed(text: str, base: int) -> int | None:
    """Do as Go's ParseInt with a fixed base on a sign and digits."""
    if not _DIGITS[base].fullmatch(text, 1):
        return None
    magnitude = _magnitude(text[1:], base)
    if magnitude is None:
        return None
    value = -magnitude if text[0] == "-" else magnitude
    return value if -_MAX_INT64 - 1 <= value <= _MAX_INT64 else None


def _magnitude(digits: str, base: int) -> int | None:
    """Convert digits known to be right for the base; None for far more than 64 bits."""
    significant = digits.lstrip("0") or "0"
    # Python refuses (and takes long over) thousands of digits; 64 are enough in any base.
    return int(significant, base) if len(significant) <= 64 else None  # noqa: PLR2004


_TIMESTAMP: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:(?P<separator>[Tt]| +)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})"
    r"(?:[.,](?P<fraction>[0-9]+))?(?P<zone>Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def as_timestamp(text: str) -> str | None:
    """Give the string a program receives for an unquoted date or time, or None if it is neither.

    ``2024-01-01`` becomes ``2024-01-01 00:00:00 +0000 UTC``. Where the time carries an offset that
    is also that of the engine's own machine, the engine writes that zone's name at the end in
    place of the repeated offset.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    separator, zone = match["separator"], match["zone"]
    if separator is not None and separator.isspace() is not (zone is None):
        return None
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    clock = tuple(int(match[part] or 0) for part in ("hour", "minute", "second"))
    if not _is_date(year, month, day) or clock > (23, 59, 59) or max(clock[1:]) > 59:  # noqa: PLR2004
        return None
    offset = _offset(zone or "Z")
    if offset is None:
        return None
    fraction = (match["fraction"] or "")[:9].rstrip("0")
    return (
        f"{year:04}-{month:02}-{day:02} {clock[0]:02}:{clock[1]:02}:{clock[2]:02}"
        f"{'.' + fraction if fraction else ''} {offset} {'UTC' if offset == '+0000' else offset}"
    )


def _offset(zone: str) -> str | None:
    """Write a zone as Go does; it takes 24 hours and 60 minutes for valid."""
    if zone == "Z":
        return "+0000"
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 24 or minutes > 60:  # noqa: PLR2004
        return None
    hours, minutes = divmod(60 * hours + minutes, 60)
    return f"{zone[0] if hours or minutes else '+'}{hours:02}{minutes:02}"


def _is_date(year: int, month: int, day: int) -> bool:
    """Tell whether the calendar has this day; Go's has a year 0, Python's starts at 1."""
    if not 1 <= month <= len(_MONTH_DAYS):
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _MONTH_DAYS[month - 1] + (leap and month == 2)  # noqa: PLR2004
