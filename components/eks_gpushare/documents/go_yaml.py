"""YAML as sigs.k8s.io/yaml reads it, which all of NVIDIA's programs use.

Source: go.yaml.in/yaml/v2 2.4.3, `resolve.go`, which is a port of libyaml: 1e1 is a number, 0o10
and 010 are 8, 12:30 and 2026-01-01 are text, and y is true.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_EXPONENT = 1e21
_NEITHER = ("int", "float", "timestamp")
_BASES = {"0x": 16, "0o": 8, "0b": 2}


class _Loader(_Base):  # type: ignore[misc]  # the faster of two classes without types
    """PyYAML with the scalars that Go's YAML package knows."""


def _whole(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "").lower()
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    base = _BASES.get(digits[:2], 8 if digits.startswith("0") else 10)
    return sign * int(digits[2:] if digits[:2] in _BASES else digits, base)


def _number(loader: Any, node: Any) -> float:
    """A number, which JSON writes without a fraction where it has none, and not above 1e21."""
    found = float(loader.construct_scalar(node).replace("_", ""))
    return int(found) if found.is_integer() and abs(found) < _EXPONENT else found


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
for _tag, _pattern, _first in (
    (
        "int",
        r"[-+]?(0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[0-7_]*|[1-9][0-9_]*)",
        "-+0123456789",
    ),
    ("float", r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?", "-+0123456789."),
    ("bool", "[yYnN]", "yYnN"),
):
    _resolver = re.compile(rf"(?:{_pattern})\Z")
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _resolver, list(_first))
_Loader.add_constructor(_INT, _whole)
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
