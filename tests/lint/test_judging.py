"""What is odd in results of kustomizations has to be so in all that have it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint.builds import in_all_builds
from eks_gpushare.lint.judging import _in_each_of_its_own
from eks_gpushare.lint.scopes import FileScope
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.problem import Judgement

RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")


def odd(build: str, above: FieldPath = (), **document: Any) -> Problem:
    made = Document("base/x.yaml", {}, lambda _: Position(1, 1), build=build, **document)
    return Problem(RULE, Source("it", made, above), ("data",), "Nothing uses it.", "Use it.")


def wrong(build: str) -> Problem:
    made = Source("it", Document("base/x.yaml", {}, lambda _: Position(1, 1), build=build))
    return Problem(RULE, made, (), "It is refused.", "Mend it.", severity="error")


def built(path: FieldPath, value: Any, **document: Any) -> Problem:
    """Of a file with a text, as a kustomization has it."""
    (read,) = read_texts("data: {a: [b]}\n", "base/x.yaml").documents
    made = replace(read, value=value, build="one", **document)
    return Problem(RULE, Source("it", made, path[:1]), path[1:], "Nothing uses it.", "Use it.")


def at_odds(path: FieldPath, at: FieldPath = (), **document: Any) -> Problem:
    """What a file says as it is, with what a kustomization makes of another."""
    (read,) = read_texts("data: {a: [b]}\n", "base/y.yaml").documents
    made = replace(read, build="one", **document)
    return replace(odd("one"), against=(Source("the other", made, at), path))


class Elsewhere:
    """Of values that are written in several files."""

    def where(self, path: FieldPath) -> tuple[str, Position]:
        return f"{len(path)}.tf", Position(1, 1)


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


def test_what_an_overlay_says_itself_is_told_of_it() -> None:
    changed = {"data": {"a": ["c"]}}
    for path in (("data",), ("data", "a"), ("data", "a", 0)):
        assert kept([built(path, changed)], []) != []
        assert kept([built(path, {"data": {"a": ["b"]}})], []) == []
    assert kept([built(("data",), {"data": {"a": ["b"], "c": "d"}})], []) != []
    assert kept([built(("data",), {"data": {"a": ["b"], "c": 1}})], []) == []
    # Every overlay changes something of an object, such as its namespace.
    assert kept([built((), changed)], []) == []
    # What is written elsewhere is not known to be another's.
    assert kept([built(("data",), changed, text=None)], []) == []


def test_what_one_root_of_several_makes_is_told_of_it() -> None:
    def told(build: str, severity: Severity | None = None) -> list[str]:
        problem = replace(odd(build, origin=Elsewhere()), severity=severity)
        return [each.message for each in kept([problem], []) if isinstance(each, Problem)]

    named = ["Nothing uses it. So it is in live/one."]
    assert told("live/one") == told("live/one", "warning") == named
    assert told("live/one", "info") == []
    assert told("examples/one") == told("modules/a/examples/one/eks/us") == []
    assert told("test/fixtures/one") == told("Tests/one") == []
    # In all of them it is no root's.
    both: list[Judgement] = [odd(each, origin=Elsewhere()) for each in ("one", "two")]
    assert kept(both[:1], both[1:]) == both[:1]


def test_all_roots_that_make_it_so_are_named() -> None:
    def scope(name: str) -> FileScope:
        return FileScope(name, "", frozenset({"base/x.yaml"}), frozenset({name}))

    names = ("examples/one", "two", "three", "right")
    wrong = [[odd(each, origin=Elsewhere())] for each in names[:3]]
    given: list[tuple[FileScope, list[Judgement]]] = [
        (scope(name), list(each)) for name, each in zip(names, [*wrong, []], strict=True)
    ]
    (problem,) = in_all_builds(given)
    assert isinstance(problem, Problem)
    assert problem.message == "Nothing uses it. So it is in two and three."


def test_what_goes_with_nothing_that_an_overlay_adds_is_told_with_its_name() -> None:
    def told(problem: Problem) -> list[str]:
        return [each.message for each in kept([problem], []) if isinstance(each, Problem)]

    named = ["Nothing uses it. So it is in one."]
    assert told(at_odds(("data", "c"))) == named
    assert told(at_odds(("c",), ("data",))) == named
    assert told(at_odds(("a", 0), ("data",))) == []
    # What is written elsewhere is not known to be another's.
    assert told(at_odds(("data", "c"), text=None)) == []
    assert told(replace(at_odds(("data", "c"), origin=Elsewhere()), severity="info")) == []
    assert told(replace(odd("one"), against=(Source("a resource"), ("data",)))) == []
    # In all of them it is no overlay's.
    both: list[Judgement] = [
        at_odds(("data", "c")),
        replace(at_odds(("data", "c")), source=odd("two").source),
    ]
    assert kept(both[:1], both[1:]) == both[:1]


def test_what_is_not_known_of_a_base_has_to_be_so_in_all_overlays() -> None:
    source = built(("data",), {"data": {"a": ["c"]}}).source
    unseen = NotSeen(RULE, source, "the data")

    assert kept([unseen], []) == []


def environment(name: str, *files: str, builds: tuple[str, ...] = ()) -> FileScope:
    made = FileScope(f"the environment {name}", "", frozenset(files), frozenset(builds))
    return replace(made, is_environment=True)


def shown(one: list[Judgement], two: list[Judgement]) -> list[tuple[str, str]]:
    """Of two environments that have a file in common, and build it each."""
    file = "base/x.yaml"
    found = in_all_builds(
        [
            (environment("one", file, builds=("one", "both")), one),
            (environment("two", file, builds=("two", "both")), two),
            (environment("three", "other.yaml"), []),
            (FileScope("notes", "", frozenset(("a.md",))), []),
        ]
    )
    return [(each.message, each.rule.id) for each in found if isinstance(each, Problem)]


def error(path: FieldPath = (), build: str = "", message: str = "It is wrong.") -> Problem:
    document = Document("base/x.yaml", {}, lambda _: Position(1, 1), build=build)
    return Problem(RULE, Source("it", document), path, message, "Mend it.", severity="error")


def test_what_is_told_of_an_environment_is_not_told_of_its_root_too() -> None:
    problem = odd("one", origin=Elsewhere())
    unseen = NotSeen(RULE, problem.source, "the data")

    assert shown([problem], []) == [
        ("Nothing uses it. So it is in the environment one.", "GPU1999"),
    ]
    assert shown([unseen], []) == []


def test_what_environments_have_in_common_has_to_be_wrong_in_all_of_them() -> None:
    common = error(("a",))

    assert shown([common], []) == []
    assert shown([common], [replace(common, path=("b",))]) == []
    assert shown([common], [common]) == [("It is wrong.", "GPU1999")] * 2
    assert shown([error(("a",), "both")], []) == []
    other = replace(common, message="So it is too.")
    assert [message for message, _ in shown([common], [other])] == ["It is wrong.", "So it is too."]


def test_what_one_of_them_builds_is_told_with_its_name() -> None:
    one, two = error(("a",), "one"), error(("a",), "two")

    assert [message for message, _ in shown([one], [])] == [
        "It is wrong. So it is in the environment one."
    ]
    assert [message for message, _ in shown([one], [two])] == ["It is wrong.", "It is wrong."]


def test_of_a_stack_everything_is_told_in_each() -> None:
    of_stack = Problem(RULE, Source("it"), (), "Nothing uses it.", "Use it.")

    assert [message for message, _ in shown([of_stack], [])] == ["Nothing uses it."]


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


def test_an_item_as_a_whole_is_of_no_overlay() -> None:
    assert kept([at_odds(())], []) == []
    assert kept([at_odds((), ("c",))], []) == []
