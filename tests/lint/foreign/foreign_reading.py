"""Texts of foreign formats, read by one reader, and what it says of them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.document import Document, Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.lint.document import DocumentReader, Read


def read_with(reader: DocumentReader, text: str | dict[str, Any]) -> list[Read]:
    """What a reader makes of each document of a text, or of a value."""
    values = [text] if isinstance(text, dict) else [*yaml.safe_load_all(textwrap.dedent(text))]
    documents = [
        Document("file.yaml", value, lambda _: Position(1, 1), index)
        for index, value in enumerate(values)
    ]
    assert all(reader.matches(each) for each in documents)
    return [reader.read(each) for each in documents]


def problems(reads: Sequence[Read]) -> list[Problem]:
    return [each for read in reads for each in read.judgements if isinstance(each, Problem)]


def ids(reads: Sequence[Read]) -> list[str]:
    """Ids of the rules with problems, in their order."""
    return [each.rule.id for each in problems(reads)]


def merged(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with values at places set: `a__b=1` for `{a: {b: 1}}`, `...` to take one away."""
    made: dict[str, Any] = yaml.safe_load(yaml.safe_dump(base))
    for place, value in changes.items():
        *above, last = place.split("__")
        inner = made
        for step in above:
            inner = inner.setdefault(step, {})
        if value is ...:
            inner.pop(last)
        else:
            inner[last] = value
    return made
