"""How a function becomes a check of inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


class Edge(NamedTuple):
    """A check of what several items, or parts of one, have to agree on."""

    rules: tuple[Rule, ...]
    """Whose problems it can have."""
    look: Callable[[Inventory], Iterator[Judgement]]
    """Yields what is wrong and what is not known."""


def edge(
    *rules: Rule,
) -> Callable[[Callable[[Inventory], Iterator[Judgement]]], Edge]:
    """Make a function the check of rules."""

    def of(look: Callable[[Inventory], Iterator[Judgement]]) -> Edge:
        return Edge(rules, look)

    return of


def edges_in(*modules: ModuleType) -> tuple[Edge, ...]:
    """The checks that modules define, each module's in the order of its lines."""
    return tuple(
        edge
        for module in modules
        for edge in vars(module).values()
        if isinstance(edge, Edge) and edge.look.__module__ == module.__name__
    )
