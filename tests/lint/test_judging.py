"""What is odd in results of kustomizations has to be so in all that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.judging import _in_each_of_its_own, in_all_builds
from eks_gpushare.lint.scopes import FileScope
from eks_gpushare.manifests.document import Document

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement

RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")


def odd(build: str, above: FieldPath = (), **document: Any) -> Problem:
    made = Document("base/x.yaml", {}, lambda _: Position(1, 1), build=build, **document)
    return Problem(RULE, Source("it", made, above), ("data",), "Nothing uses it.", "Use it.")


def wrong(build: str) -> Problem:
    made = Source("it", Document("base/x.yaml", {}, lambda _: Position(1, 1), build=build))
    return Problem(RULE, made, (), "It is refused.", "Mend it.", severity="error")


def kept(one: list[Judgement], two: list[Judgement]) -> list[Judgement]:
    """Of two overlays of a base, the base by itself, and what is none of it."""
    files = frozenset({"base/x.yaml"})
    return in_all_builds(
        [
            (FileScope("one", "", files, frozenset({"one"})), one),
            (FileScope("two", "", files, frozenset({"two"})), two),
            (FileScope("base", "", files), []),
            (FileScope("notes", "", frozenset({"notes/x.yaml"})), []),
            (FileScope("other", "", frozenset({"other/x.yaml"}), frozenset({"other"})), []),
        ]
    )


def test_what_is_odd_in_all_of_them_is_told_once() -> None:
    first = odd("one")

    assert kept([first], [odd("two")]) == [first]
    assert kept([first], []) == []


def test_it_has_to_be_the_same_place() -> None:
    assert kept([odd("one", index=0)], [odd("two", index=1)]) == []
    assert kept([odd("one", at=("items", 0))], [odd("two", at=("items", 1))]) == []
    assert kept([odd("one", ("a",))], [odd("two", ("b",))]) == []


def test_an_error_in_one_of_them_is_one() -> None:
    error = wrong("one")

    assert kept([error], []) == [error]


def test_what_stands_in_a_file_or_a_stack_as_it_is_is_told_anyway() -> None:
    of_file = odd("")
    of_stack = Problem(RULE, Source("it"), (), "Nothing uses it.", "Use it.")

    assert kept([of_file, of_stack], []) == [of_file, of_stack]


def test_of_what_no_choice_is_about_one_is_enough() -> None:
    """A node class is no item, and stands beside the pools of each choice."""
    pools = [NodeSet(source=Source("it"), name=each, provisioner="karpenter") for each in "ab"]
    of_class = odd("")

    assert _in_each_of_its_own([(pools[:1], [of_class]), (pools[1:], [])]) == [of_class]
