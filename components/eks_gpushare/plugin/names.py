"""Names of properties: camelCase in the schema, as in a stack file, and snake_case in Python."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from eks_gpushare.inputs.python_words import python_names

if TYPE_CHECKING:
    from collections.abc import Mapping

_CAPITAL = re.compile(r"[A-Z]")


def schema_name(python_name: str) -> str:
    """The name of a property in the schema: the stack file's key, where it has one."""
    return _schema_names().get(python_name) or _camel_case(python_name)


def python_name(schema_name: str) -> str:
    """The name of the same property in Python."""
    name = python_names().get(schema_name)
    return name or _CAPITAL.sub(lambda match: f"_{match[0].lower()}", schema_name)


@cache
def _schema_names() -> Mapping[str, str]:
    return {name: key for key, name in python_names().items()}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
