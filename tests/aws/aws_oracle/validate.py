"""Parameters of a call against botocore's model, with what botocore itself does not look at.

Its own validator sees names, types and what is required. Which words a member takes, their
patterns and their lengths are in the same model, and the service refuses what breaks them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.validate import ParamValidator

from aws_oracle.shapes import operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from botocore.model import Shape


def faults(service: str, name: str, parameters: dict[str, Any]) -> list[str]:
    """All that is wrong with the parameters of a call."""
    shape = operation(service, name).input_shape
    report = ParamValidator().validate(parameters, shape)
    found = [report.generate_report()] if report.has_errors() else []
    return [f"{service}:{name}: {each}" for each in [*found, *_faults(parameters, shape, "")]]


def _faults(value: Any, shape: Shape, path: str) -> Iterator[str]:
    kind = shape.type_name
    if kind == "structure" and isinstance(value, dict):
        for key, item in value.items():
            if key in shape.members:
                yield from _faults(item, shape.members[key], f"{path}.{key}")
    elif kind == "list" and isinstance(value, list):
        yield from _length(len(value), shape, path, "items")
        for item in value:
            yield from _faults(item, shape.member, f"{path}[]")
    elif kind == "map" and isinstance(value, dict):
        yield from _length(len(value), shape, path, "keys")
        for key, item in value.items():
            yield from _faults(key, shape.key, f"{path}.{key}")
            yield from _faults(item, shape.value, f"{path}.{key}")
    elif kind == "string" and isinstance(value, str):
        yield from _text(value, shape, path)
    elif kind in {"integer", "long"} and isinstance(value, int):
        yield from _length(value, shape, path, "")


def _text(value: str, shape: Shape, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield f"{path} is {value!r}, which is none of {', '.join(shape.enum)}"
    yield from _length(len(value), shape, path, "characters")
    pattern = shape.metadata.get("pattern")
    if pattern and not expression(pattern, whole=True).search(value):
        yield f"{path} is {value!r}, which does not match {pattern}"


_JAVA = {r"\p{L}": r"\w", r"\p{Z}": r"\s", r"\p{N}": r"\d", r"\p{M}": ""}
"""Java's classes of characters, which Python's expressions do not know by these names."""


@cache
def expression(pattern: str, *, whole: bool = False) -> re.Pattern[str]:
    """A pattern of AWS's as Python has it; `whole` where it is meant for the whole text."""
    for java, python in _JAVA.items():
        pattern = pattern.replace(java, python)
    return re.compile(rf"\A(?:{pattern})\Z" if whole else pattern, re.DOTALL)


def _length(size: int, shape: Shape, path: str, of: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield f"{path} is {size} {of}".rstrip() + f", and at least {least} are needed"
    if most is not None and size > most:
        yield f"{path} is {size} {of}".rstrip() + f", and at most {most} are allowed"
