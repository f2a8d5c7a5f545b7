"""Texts of several documents: where each begins, what ends reading, and texts within them."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests import texts
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import (
    place_within,
    read_texts,
    texts_within,
    unreadable_character,
)


def values(text: str) -> list[Any]:
    return [each.value for each in read_texts(text, "a.yaml").documents]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
        ("%YAML 1.1\n# why\n\n---\na: 1\n", [{"a": 1}]),
        ("%TAG !e! tag:e,2000:\n# why\n\n---\na: !e!x b\n", [{"a": "b"}]),
        ("# why\n---\na: 1\n", [{"a": 1}]),
        ("%YAML 1.1\n", []),
        ("a: 1\n---\n%YAML 1.1\n", [{"a": 1}]),
        ("", []),
    ],
)
def test_documents_of_a_text(text: str, expected: list[Any]) -> None:
    read = read_texts(text, "a.yaml")

    assert [each.value for each in read.documents] == expected
    assert read.problems == ()


def test_halves_of_a_character_are_read_in_json_alone() -> None:
    pair = r'"\ud83d\ude00"'
    (document,) = read_texts(f'{{"a": {pair}, "b": 1}}', "a.json").documents

    assert document.value == {"a": "\ufffd" * 12, "b": 1}
    assert document.position(("b",)) == (1, 23)
    assert values(f"[{pair}]") == [["\ufffd" * 12]]
    assert read_texts(f"a: {pair}\n", "a.yaml").problems != ()
    assert values(r'{"a": "\u00e9"}') == [{"a": "\u00e9"}]


def test_json_may_have_what_yaml_has_not() -> None:
    """A tokenizer's vocabulary made lint end with 2."""
    text = '{"a": "\x92\x7f\ufdd0", "b": 1}'
    (document,) = read_texts(text, "a.json").documents

    assert document.value == {"a": "\ufffd\ufffd\ufdd0", "b": 1}
    assert unreadable_character(text, "a.json") is None
    (document,) = read_texts('{"a": "\u2028\x85",\n"b": 1}', "a.json").documents
    assert document.position(("b",)).line == 2  # YAML begins a line at each of the two
    for other in (unreadable_character(text, "a.yaml"), unreadable_character(text[:-1], "a.json")):
        assert other is not None


@pytest.mark.parametrize("between", ["", "null\n", "null\nnull\n"])
def test_objects_of_json_may_follow_one_another(between: str) -> None:
    """As `kubectl get -o json` of several, or a chart in templates of JSON, is kept in a file."""
    read = read_texts(f'{{"a": 1\n}}\n{between}{{"b": 2\n}}\n', "a.json")

    assert read.problems == ()
    assert [each.value for each in read.documents] == [{"a": 1}, {"b": 2}]
    assert not any(each.editable for each in read.documents)
    last = read.documents[1].position(("b",))
    assert (last.line, last.column) == (3 + between.count("\n"), 2)
    assert read_texts('{"a": 1}', "a.json").documents[0].editable


@pytest.mark.parametrize("text", ['{"a": 1\n}\n{"b": }\n', '{"a": 1\n}\nb\n', '1\n{"a": 1}\n', "{"])
def test_what_is_no_stream_is_no_json(text: str) -> None:
    (problem,) = read_texts(text, "a.json").problems

    assert problem.message.startswith("not valid JSON: ")


def test_what_is_wrong_stands_at_its_place() -> None:
    (problem,) = read_texts("a: 1\n---\nb: {c: 1, c: 2}\n", "a.yaml").problems

    assert (problem.line, problem.column) == (3, 11)


def test_only_so_many_documents_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_DOCUMENTS", 2)

    assert read_texts("a: 1\n---\nb: 2\n", "a.yaml").problems == ()
    read = read_texts("a: 1\n---\nb: 2\n---\nc: 3\n", "a.yaml")
    assert len(read.documents) == 2
    (problem,) = read.problems
    assert (problem.line, problem.column, problem.kind) == (4, 1, "size")


def test_which_documents_may_be_corrected() -> None:
    def editable(text: str, **how: Any) -> bool:
        (document,) = read_texts(text, "a.yaml", **how).documents
        return document.editable

    assert editable("a: 1")
    assert not editable("a: 1", editable=False)
    assert not editable("a: 1", place=lambda at: at)
    assert not editable("a: 1", place=lambda at: at, editable=False)
    assert not editable("kind: CustomResourceDefinition\n")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\x07", (1, 1)),
        ("ab\x07", (1, 3)),
        ("a\nb\x07", (2, 2)),
        ("a\n\nbcd\n\x07", (4, 1)),
        ("\ufeffa\x07", (1, 2)),
        ("a\u00e9\n\U0001f600", None),
        ("a\tb\r\n", None),
    ],
)
def test_characters_that_yaml_has_not(text: str, place: tuple[int, int] | None) -> None:
    found = unreadable_character(text)

    assert (None if found is None else (found.line, found.column)) == place


OUTER = """\
a:
  b: |

    c: 1
    d: 2
  e: "f: 3"
  g: 5
"""


def outer() -> Document:
    (document,) = read_texts(OUTER, "a.yaml").documents
    return document


@pytest.mark.parametrize(
    ("path", "expected", "place"),
    [
        (("a", "b"), {"c": 1, "d": 2}, (3, 5)),
        (("a", "e"), {"f": 3}, None),
        (("a", "g"), None, None),
        (("a", "b", "c"), None, None),
        (("a",), None, None),
        (("x",), None, None),
        ((), None, None),
    ],
)
def test_a_text_within_a_document(path: Any, expected: Any, place: Any) -> None:
    found = texts_within(outer(), path)

    assert (None if found is None else found.documents[0].value) == expected
    assert place_within(outer(), path) == place


def test_places_of_a_text_within() -> None:
    block, quoted = (texts_within(outer(), ("a", key)) for key in "be")
    assert block is not None
    assert quoted is not None

    assert block.documents[0].position(("d",)) == (5, 5)
    assert block.documents[0].editable
    assert quoted.documents[0].position(("f",)) == (6, 3)
    assert not quoted.documents[0].editable


def test_a_document_without_a_text_holds_none() -> None:
    made = Document("a.yaml", {"a": "b: 1"}, lambda _: Position(1, 1))

    assert texts_within(made, ("a",)) is None
    assert place_within(made, ("a",)) is None


def test_a_block_is_indented_as_its_first_line() -> None:
    (document,) = read_texts("a: |\n  b: 1\n", "a.yaml").documents

    assert place_within(document, ("a",)) == (2, 3)
