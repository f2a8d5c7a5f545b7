"""What is found in a scope is doubted where it is not so with what lies nearby, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import Edge
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.judging import Scoped
from eks_gpushare.lint.layouts import Layouts
from eks_gpushare.lint.nearby import Nearby
from eks_gpushare.lint.scopes import FileScope
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.inventory.inventory import Inventory

ONE = Rule("GPU1998", "warning", "A rule.", "Why.", "https://example.com")
OTHER = Rule("GPU1999", "warning", "Another.", "Why.", "https://example.com")
HERE, THERE = "a/x.yaml", "b/y.yaml"
FILES = (HERE, "a/z.yaml", THERE)
NODES = {
    file: NodeSet(
        source=Source("it", Document(file, {}, lambda _: Position(1, 1))),
        name=file,
        provisioner="managed",
    )
    for file in FILES
}


def says(
    rule: Rule, file: str, *, beside: bool | None = None, severity: Severity | None = None
) -> Edge:
    """A check that says something of a file: always, beside the file nearby, or without it."""

    def look(inventory: Inventory) -> Iterator[Problem]:
        names = {each.name for each in inventory.of(NodeSet)}
        if file in names and beside in (None, THERE in names):
            yield Problem(rule, NODES[file].source, (), "It is wrong.", "Mend it.", severity)

    return Edge((rule,), look)


def doubted(*edges: Edge) -> list[tuple[str, bool]]:
    """What is found in the folder of a file, and whether it is doubted."""
    nearby = Nearby({}, FILES, Layouts(()), {})
    scoped = Scoped(NODES.values(), (), {}, edges, nearby=nearby)
    found = scoped.judged(FileScope("a", "", frozenset(FILES[:2])))
    return [(e.rule.id, e.is_doubted) for e in found if isinstance(e, Problem)]


LACKS = says(ONE, HERE, beside=False)


@pytest.mark.parametrize(
    ("more", "is_doubted"),
    [
        ((), True),
        # The other folder has a mistake of this kind by itself, or has another.
        ((says(ONE, THERE),), True),
        ((says(OTHER, THERE),), True),
        # Together something else is wrong of it, or the same of another file.
        ((says(OTHER, HERE, beside=True),), False),
        ((says(OTHER, HERE, beside=True, severity="info"),), True),
        ((says(ONE, FILES[1], beside=True),), False),
        ((says(OTHER, FILES[1], beside=True),), True),
        ((says(ONE, THERE, beside=True),), True),
    ],
)
def test_what_is_not_so_with_what_lies_nearby(more: tuple[Edge, ...], is_doubted: bool) -> None:
    assert (ONE.id, is_doubted) in doubted(LACKS, *more)


def test_what_is_so_all_the_same_is_not_doubted() -> None:
    assert doubted(says(ONE, HERE)) == [(ONE.id, False)]
    assert doubted(says(ONE, HERE), LACKS) == [(ONE.id, False)] * 2


def test_a_note_is_one_already() -> None:
    note = says(OTHER, HERE, beside=False, severity="info")

    assert doubted(LACKS, note) == [(ONE.id, True), (OTHER.id, False)]
    assert doubted(note) == [(OTHER.id, False)]
