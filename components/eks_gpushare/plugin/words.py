"""What a finding says, in the names that the package's schema has."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from eks_gpushare.findings.finding import dotted
from eks_gpushare.inputs.python_words import NAMED, OTHERS_KEYS
from eks_gpushare.plugin.names import schema_name
from eks_gpushare.plugin.schema import schema

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath, Finding

_ELSEWHERE = (
    (re.compile(r"pulumi\.Config\(\)"), "the stack's configuration"),
    (
        re.compile(
            r"`?opts=ResourceOptions\(providers=\[[a-z.]+\](, depends_on=\[[a-z, ]*\])?\)`?"
        ),
        "the resource option providers, with one made from its kubeconfig",
    ),
)
"""What is Python, and how it is said to every program."""
_PYTHON_NAME = re.compile(r"(?<![A-Za-z0-9_/.\"-])[a-z0-9]+(?:_[a-z0-9]+)+(?![A-Za-z0-9_/-])")


def in_schema_words(found: Finding) -> Finding:
    """A finding about arguments, as a program in another language has to read it."""
    at = _schema_path(found.at)
    path = dotted(at) if at else found.path
    message, fix = (elsewhere(_PYTHON_NAME.sub(_word, t)) for t in (found.message, found.fix))
    return replace(found, at=at, path=path, message=message, fix=fix)


def elsewhere(text: str) -> str:
    """A text without what is written in Python."""
    for python, every in _ELSEWHERE:
        text = python.sub(every, text)
    return text


def _schema_path(at: FieldPath) -> FieldPath:
    result: list[str | int] = []
    above = ""
    for index, part in enumerate(at):
        if above in OTHERS_KEYS:
            return (*result, *at[index:])
        is_key = isinstance(part, str) and above not in NAMED
        result.append(_key(part) if is_key and isinstance(part, str) else part)
        above = part if is_key and isinstance(part, str) else ""
    return tuple(result)


def _word(match: re.Match[str]) -> str:
    return _key(match[0])


def _key(name: str) -> str:
    """A key in the schema's name; what is none stays as somebody wrote it."""
    found = schema_name(name)
    return found if found in _keys() else name


@cache
def _keys() -> frozenset[str]:
    """Every key that the schema has somewhere."""
    kinds = (*schema()["types"].values(), *schema()["resources"].values())
    blocks = (kind.get(block, ()) for kind in kinds for block in ("properties", "inputProperties"))
    return frozenset(key for block in blocks for key in block)
