"""What an edge is: a place that has to agree with another, and the ways to break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stack_mutants.paths import Path, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.program.recording import Resource
    from stack_mutants.operators import Operator

Stakes: TypeAlias = Literal["pods", "cost", "leak", "rights", "upkeep"]
"""What a broken edge costs: pods do not run, money, another's data or secrets, too many or too few
rights, care (nodes that grow old, logs that are missing)."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A way to break a whole resource, named as operators are."""

    name: str
    change: Callable[[Resource, list[Resource]], list[Resource] | None]
    """From it and all resources to all there are then; None where it does not apply."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A place of resources of a type, and how to break it."""

    kind: str
    """Last part of the type."""
    path: Path
    """Pattern of the places."""
    ways: tuple[Operator | Whole, ...]
    stakes: Stakes
    only: Callable[[Resource], bool]
    """Which resources of the type have it."""


def _all(_: Resource) -> bool:
    return True


class Edges:
    """Edges of one type, added in the order of the table."""

    def __init__(self, kind: str, only: Callable[[Resource], bool] = _all) -> None:
        self._kind, self._only = kind, only
        self.found: list[Edge] = []

    def at(self, pattern: str, stakes: Stakes, *ways: Operator | Whole) -> Edges:
        """One more."""
        self.found.append(Edge(self._kind, parse(pattern), ways, stakes, self._only))
        return self


def holds(*path: Any, value: Any = None) -> Callable[[Resource], bool]:
    """Whether a resource's inputs have something at a path, or one that contains a text."""

    def of(resource: Resource) -> bool:
        found: Any = resource.inputs
        for step in path:
            if not isinstance(found, dict) or step not in found:
                return False
            found = found[step]
        return value is None or (isinstance(found, str) and value in found)

    return of
