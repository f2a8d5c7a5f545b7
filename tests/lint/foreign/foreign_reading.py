"""Texts of foreign formats, read as the command reads them, and what is said of them."""

from __future__ import annotations

import textwrap
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.manifests.document import Document, Read
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.manifests.document import DocumentReader, TextReader


def read_with(reader: DocumentReader, text: str | dict[str, Any]) -> list[Read]:
    """What a reader makes of each document of a text, or of a value."""
    if isinstance(text, dict):
        documents: Sequence[Document] = [Document("file.yaml", text, lambda _: Position(1, 1))]
    else:
        documents = read_texts(textwrap.dedent(text).lstrip("\n"), "file.yaml").documents
    assert all(reader.matches(each) for each in documents)
    return [reader.read(each) for each in documents]


def read_text_with(reader: TextReader, text: str, file: str = "file.md") -> list[Read]:
    """What a reader makes of a text, and others of the documents in it."""
    first = reader.read(file, textwrap.dedent(text).lstrip("\n"))
    return [first, *_inner(first)]


def _inner(read: Read) -> Iterator[Read]:
    for document in read.inner:
        reader = next((each for each in DOCUMENT_READERS if each.matches(document)), None)
        if reader is not None:
            found = reader.read(document)
            yield found
            yield from _inner(found)


def problems(reads: Sequence[Read]) -> list[Problem]:
    """What is wrong, in the order in which it was found."""
    return [each for read in reads for each in read.judgements if isinstance(each, Problem)]


def ids(reads: Sequence[Read]) -> list[str]:
    """Ids of the rules with problems, in their order."""
    return [each.rule.id for each in problems(reads)]


def items(reads: Sequence[Read]) -> list[Item]:
    """What was read."""
    return [each for read in reads for each in read.items]


def placed(problem: Problem) -> Position:
    """Where a problem is."""
    document: Document = problem.source.document
    return document.position((*problem.source.path, *problem.path))


def merged(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with values at places set: `a__b=1` for `{a: {b: 1}}`, `...` to take one away."""
    made: dict[str, Any] = deepcopy(base)
    for place, value in changes.items():
        *above, last = place.split("__")
        inner: Any = made
        for step in above:
            inner = inner[int(step)] if step.isdecimal() else inner.setdefault(step, {})
        if value is ...:
            inner.pop(last)
        else:
            inner[last] = value
    return made
