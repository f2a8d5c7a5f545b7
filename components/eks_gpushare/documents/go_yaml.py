"""YAML as sigs.k8s.io/yaml reads it, which all of NVIDIA's programs use.

Source: go.yaml.in/yaml/v2 2.4.3, `resolve.go`, which is a port of libyaml: 1e1 is a number, 0o10
and 010 are 8, 12:30 and 2026-01-01 are text, and y is true.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_EXPONENT = 1e21
_NEITHER = ("int", "float", "timestamp")
_BASES = {"0x": 16, "0o": 8, "0b": 2}
_LEAST, _MOST = -(2**63), 2**64 - 1
"""Whole numbers that Go has; others are fractions, or text where they are not decimal."""
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class _Loader(_Base):  # type: ignore[misc]  # the faster of two classes without types
    """PyYAML with the scalars that Go's YAML package knows."""


def _number(loader: Any, node: Any) -> int | float | str:
    """A number; what looks like one and is none, such as `0x_` or `1e999`, is text.

    JSON writes it without a fraction where it has none, and not from 1e21 on.
    """
    text = str(loader.construct_scalar(node))
    plain = text.replace("_", "")
    whole = _whole(plain)
    if whole is not None and _LEAST <= whole <= _MOST:
        return whole
    found = float(plain) if _DECIMAL.fullmatch(plain) else math.inf
    if math.isfinite(found):
        return int(found) if found.is_integer() and abs(found) < _EXPONENT else found
    if any(pattern.match(text) for _, pattern in _NUMBERS):
        return text
    kind = str(node.tag).rpartition(":")[2]
    raise yaml.constructor.ConstructorError(
        problem=f"cannot decode !!str `{text}` as a !!{kind}", problem_mark=node.start_mark
    )


def _whole(plain: str) -> int | None:
    """A whole number in any of Go's bases; None if it is none, or by far too long."""
    digits = plain.lower().lstrip("+-")
    base = _BASES.get(digits[:2], 8 if digits.startswith("0") else 10)
    try:
        found = int(digits[2:] if digits[:2] in _BASES else digits, base)
    except ValueError:
        return None
    return -found if plain.startswith("-") else found


def _bytes(loader: Any, node: Any) -> str:
    """A text in base64."""
    return str(loader.construct_yaml_binary(node).decode(errors="replace"))


def _plain(loader: Any, node: Any) -> Any:
    """What a tag that Go does not know is on, as it is."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(_NEITHER)]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_NUMBERS = (
    (
        "int",
        re.compile(
            r"(?:(?:[-+]_*)?(0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[0-7_]*|[1-9][0-9_]*))\Z"
        ),
    ),
    (
        "float",
        re.compile(r"(?:[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?)\Z"),
    ),
)
for _tag, _pattern, _first in (
    *((_tag, _pattern, "-+0123456789.") for _tag, _pattern in _NUMBERS),
    ("bool", re.compile(r"[yYnN]\Z"), "yYnN"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, list(_first))
_Loader.add_constructor(_INT, _number)
_Loader.add_constructor(_FLOAT, _number)
_Loader.add_constructor("tag:yaml.org,2002:binary", _bytes)
_Loader.add_constructor(None, _plain)
_Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


def first_document(text: str) -> Any:
    """The first document of a text, None if there is none.

    Raises:
        ValueError: If it is no YAML; the text says what is wrong, and in which line.
    """
    for line in text.splitlines():
        if line.startswith("%YAML") and line.split()[1:2] != ["1.1"]:
            raise ValueError("yaml: found incompatible YAML document")
        if not line.startswith(("%", "#")) and line.strip():
            break
    try:
        return next(iter(yaml.load_all(text, Loader=_Loader)), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or type(error).__name__
        last = text.rstrip("\n").count("\n") + 1  # libyaml counts on at the end
        where = f"line {min(mark.line + 1, last)}: " if mark is not None else ""
        raise ValueError(f"yaml: {where}{said}") from None
    except RecursionError:
        raise ValueError("yaml: it is nested too deeply") from None
