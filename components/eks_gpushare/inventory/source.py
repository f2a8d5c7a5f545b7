"""Where an item of the inventory was read, and values that are not known there."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath, Position

T = TypeVar("T")


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""A value that will be known later, such as one of a resource that is yet to be made.

Also what a template fills in. It is neither a missing value, which is None or empty, nor a guess.
"""

Maybe: TypeAlias = T | Literal[Unknown.UNKNOWN]
"""A value, or `UNKNOWN`."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item was read."""

    name: str
    """How messages call it: `the Deployment notebooks`, `the node group gpu`."""
    document: Any = field(default=None, compare=False, repr=False)
    """What the reader knows it by: a document of a file, or a resource of a program."""
    path: FieldPath = ()
    """The item's place within the document; paths of problems go on from here."""
    arms: tuple[tuple[Position, int], ...] = field(default=(), compare=False)
    """The arms of choices of a script within which a command says it, each by where its choice
    begins and its number; none if it is said in any case."""

    @property
    def file(self) -> str:
        """The name of the file that it was read from; empty where it is of none."""
        return str(getattr(self.document, "file", ""))

    @property
    def folder(self) -> str:
        """The folder of that file, empty of one without."""
        return posixpath.dirname(self.file)

    @property
    def is_optional(self) -> bool:
        """Whether it is there on a condition alone that is not known."""
        return bool(getattr(self.document, "is_optional", False))

    @property
    def condition(self) -> str | None:
        """What it is there on: empty if it is there anyway, None if that is not known."""
        return (getattr(self.document, "condition", "") or None) if self.is_optional else ""

    def is_apart(self, other: Source) -> bool:
        """Whether both are there on conditions of which one may be for want of the other."""
        both = self.condition, other.condition
        return all(both) and both[0] != both[1]

    def optional(self, condition: str | None = None) -> Source:
        """The same, of a document that is there on a condition; of none, itself."""
        if not hasattr(self.document, "is_optional"):
            return self
        told = replace(self.document, is_optional=True, condition=condition or "")
        return replace(self, document=told)
