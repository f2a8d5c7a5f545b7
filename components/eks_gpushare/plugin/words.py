"""What a finding says, in the names that the package's schema has: camelCase, as in a stack file."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from eks_gpushare.findings.finding import dotted
from eks_gpushare.python_words import NAMED, OTHERS_KEYS, python_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.finding import FieldPath, Finding

_PYTHON_NAME = re.compile(r"(?<![A-Za-z0-9_/.\"-])[a-z0-9]+(?:_[a-z0-9]+)+(?![A-Za-z0-9_/-])")


def in_schema_words(found: Finding) -> Finding:
    """A finding about arguments, as a program in another language has to read it."""
    at = _schema_path(found.at)
    path = dotted(at) if at else found.path
    message, fix = (_PYTHON_NAME.sub(_word, text) for text in (found.message, found.fix))
    return replace(found, at=at, path=path, message=message, fix=fix)


def schema_name(python_name: str) -> str:
    """The name of a property in the schema: the stack file's key, where it has one."""
    return _schema_names().get(python_name) or _camel_case(python_name)


@cache
def _schema_names() -> Mapping[str, str]:
    return {name: key for key, name in python_names().items()}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _schema_path(at: FieldPath) -> FieldPath:
    result: list[str | int] = []
    above = ""
    for index, part in enumerate(at):
        if above in OTHERS_KEYS:
            return (*result, *at[index:])
        is_key = isinstance(part, str) and above not in NAMED
        result.append(schema_name(part) if is_key and isinstance(part, str) else part)
        above = part if is_key and isinstance(part, str) else ""
    return tuple(result)


def _word(match: re.Match[str]) -> str:
    return _schema_names().get(match[0], match[0])
