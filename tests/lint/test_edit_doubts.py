"""Where an edit leaves a text to the letter, since its place or its spelling leaves doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eks_gpushare.inventory.problem import Edit
from eks_gpushare.lint import corrections
from eks_gpushare.lint.corrections import corrected
from eks_gpushare.lint.edits import applied, planned
from eks_gpushare.lint.fixes import Fixed, fixed_files
from eks_gpushare.lint.replacing import write
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts, texts_within
from eks_gpushare.manifests.yaml_text import YamlText

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eks_gpushare.lint.edits import Planned


def edited(text: str, edit: Edit) -> str:
    (document,) = read_texts(text, "a.yaml").documents
    assert isinstance(document.text, YamlText)
    return applied(text, planned(document.text, [edit]))[0]


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("a: 1\n", Edit("set", (), 5)),
        ("a:\n  b: 1\n", Edit("set", ("a", 0), 5)),
        ("a:\n  b: 1\n", Edit("set", ("a", "c", 0), 5)),
        ("a: 1\n", Edit("set", ("a", "b"), 5)),
        ("t:\nu: 1\n", Edit("append", ("t",), 5)),
        ("t: text\n", Edit("append", ("t",), 5)),
        ("t: &x\n- a\nu: *x\n", Edit("append", ("t",), 5)),
        ("t: !!seq\n- a\n", Edit("append", ("t",), 5)),
        ("t: !!seq [a]\n", Edit("append", ("t",), 5)),
        ("t:\n- # why\n  a: b\n", Edit("append", ("t",), 5)),
        ("a:\n  b: 1\nc: 2\n", Edit("remove", ("a", "b"))),
        ("a: {b: 1, c: 2}\nd: 2\n", Edit("remove", ("a", "b"))),
        ("- b: 1\n  c: 2\n", Edit("remove", (0, "b"))),
        ("a:\n- b\n- c\n", Edit("remove", ("a", 0))),
        ("a: 1\n", Edit("remove", ("b",))),
        ("a: 1\n", Edit("rename", ("b",), "c")),
        ("&x a: 1\n", Edit("rename", ("a",), "c")),
        ("!!str a: 1\n", Edit("rename", ("a",), "c")),
        ("x: &k a\n*k : 1\n", Edit("rename", ("a",), "c")),
        ("a: &x b\n", Edit("set", ("a",), "c")),
        ("a: |\n  b\n", Edit("set", ("a",), "c")),
        ("a: [b]\n", Edit("set", ("a",), "c")),
        ("a: b\n", Edit("set", ("a",), ["c"])),
        ("x: &x {b: 1}\na:\n  <<: *x\n", Edit("set", ("a", "b"), 2)),
    ],
)
def test_what_leaves_doubt_is_left(text: str, edit: Edit) -> None:
    assert edited(text, edit) == text


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        ("a: 0x10\n", Edit("set", ("a",), "16"), 'a: "0x10"\n'),
        ("a: yes\n", Edit("set", ("a",), "true"), 'a: "yes"\n'),
        ("a: 'x'\n", Edit("set", ("a",), "x\ty"), 'a: "x\\ty"\n'),
        ('a: "x"\n', Edit("set", ("a",), "y"), 'a: "y"\n'),
        ("a: 'x'\n", Edit("set", ("a",), "it's"), "a: 'it''s'\n"),
        ("a:\n  b: 1\n  c: 2\n", Edit("remove", ("a", "c")), "a:\n  b: 1\n"),
        ("a: 1\r\nb: 2\r\n", Edit("set", ("c",), 3), "a: 1\r\nb: 2\r\nc: 3\r\n"),
        ("a: 1\r\nb: 2", Edit("set", ("c",), 3), "a: 1\r\nb: 2\r\nc: 3"),
        ("\n\na: 1\n", Edit("set", ("c",), 3), "\n\na: 1\nc: 3\n"),
        ("t:\n  -   a\n", Edit("append", ("t",), "b"), "t:\n  -   a\n  - b\n"),
        ("- - a\n", Edit("append", (0,), "b"), "- - a\n  - b\n"),
        ("a: {}\n", Edit("set", ("a", "b", "c"), 1), "a: {b: {c: 1}}\n"),
    ],
)
def test_what_does_not_is_changed(text: str, edit: Edit, after: str) -> None:
    assert edited(text, edit) == after


def test_of_two_changes_that_overlap_the_first_is_made() -> None:
    (document,) = read_texts("a: 1\n", "a.yaml").documents
    assert isinstance(document.text, YamlText)
    wanted = planned(document.text, [Edit("set", ("a",), 2), Edit("set", ("a",), 3)])

    assert applied("a: 1\n", wanted) == ("a: 2\n", wanted[:1])
    assert applied("a: 1\n", [wanted[0], wanted[0]]) == ("a: 2\n", wanted[:1])
    assert applied("a: 1\n", []) == ("a: 1\n", [])


PIPED = "data:\n  a.yaml: |\n    x: 1\n    y: 1\n"
JSONC = '// why\n{"x": 1, "y": 1}\n'


def outline(text: str, name: str, *within: str) -> YamlText:
    (document,) = read_texts(text, name).documents
    if within:
        inner = texts_within(document, ("data", *within))
        assert inner is not None
        (document,) = inner.documents
    assert isinstance(document.text, YamlText)
    return document.text


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.yaml", "x: 1\ny: 1\n", "x: 2\ny: 2\n"),
        ("a.yaml", "x: 1\ny: 1\n", "x: 2\ny: 1\ny: 1\n"),
        ("a.yaml", "x: 1\ny: 1\n", "x: 2\ny: 1\n---\nz: 1\n"),
        ("a.yaml", "x: 1\ny: 1\n", "x: 2\ny: [\n"),
        ("a.json", '{"x": 1, "y": 1}', "x: 2\ny: 1\n"),
        ("a.json", JSONC, JSONC.replace("1,", "2,").replace("why", "how")),
        ("a.yaml", PIPED, PIPED.replace("1", "2")),
        ("a.yaml", PIPED, PIPED.replace("x: 1", "x: 2") + "more: 1\n"),
        ("a.yaml", PIPED, PIPED.replace("x: 1", "x: 2").replace(": |", ":")),
    ],
)
def test_a_text_that_does_not_mean_the_edit_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, wrong: str
) -> None:
    """Whatever goes wrong as edits are made, nobody gets a file that says something else."""
    wanted = [
        (outline(text, name, *(["a.yaml"] if text == PIPED else [])), [Edit("set", ("x",), 2)])
    ]
    right, count = corrected(text, name, wanted)
    assert (right, count) == (text.replace("x: 1", "x: 2").replace('"x": 1', '"x": 2'), 1)

    monkeypatch.setattr(corrections, "applied", lambda _, edits: (wrong, list(edits)))
    assert corrected(text, name, wanted) == (text, 0)


def test_what_is_certain_is_made_without_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: 1\nb: 1\nc: 1\n"
    edits = [Edit("set", (key,), 2) for key in "abc"]

    def breaking(text: str, wanted: Iterable[Planned]) -> tuple[str, list[Planned]]:
        after, made = applied(text, wanted)
        return (after.replace("b: 2", "b: 3"), made)

    monkeypatch.setattr(corrections, "applied", breaking)
    assert corrected(text, "a.yaml", [(outline(text, "a.yaml"), edits)]) == (
        "a: 2\nb: 1\nc: 2\n",
        2,
    )


def test_what_is_no_json_is_left() -> None:
    assert corrected("a: 1\n", "a.json", []) == ("a: 1\n", 0)


def test_a_text_within_a_text_within_a_file_is_changed() -> None:
    text = "data:\n  a.yaml: |\n    data:\n      b.yaml: |\n        x: 1\n        z: 1\n"
    (document,) = read_texts(text, "a.yaml").documents
    for name in ("a.yaml", "b.yaml"):
        within = texts_within(document, ("data", name))
        assert within is not None
        (document,) = within.documents
    assert document.text is not None
    wanted = [(document.text, [Edit("set", ("x",), 2), Edit("set", ("z",), 3)])]

    after = text.replace("x: 1", "x: 2").replace("z: 1", "z: 3")
    assert corrected(text, "a.yaml", wanted) == (after, 2)


def test_a_key_may_be_a_number() -> None:
    assert corrections.edited({1: ["a"]}, Edit("set", (1, 0), "b")) == {1: ["b"]}


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: b\n"
TYPO = f"{POD}    resource:\n      limits: {{nvidia.com/gpu: 1}}\n"


def given(text: str, name: str = "a.yaml") -> GivenFile:
    return GivenFile(name, text)


def test_a_file_that_cannot_be_read_stays_so() -> None:
    unreadable = GivenFile("b.yaml", "", problem="it is no text")
    noted = GivenFile("c.yaml", "", note="it is not read")
    fixed, first, after, _ = fixed_files([given(TYPO), unreadable, noted])

    assert [each.file for each in fixed] == ["a.yaml"]
    assert [len(each.findings) for each in first] == [1, 1, 1]
    assert [len(each.findings) for each in after] == [0, 1, 1]


def test_a_key_twice_leaves_doubt_of_the_whole_file() -> None:
    doubt = TYPO.replace("name: b\n", "name: b\n    image: c\n    image: d\n")
    fixed, first, after, _ = fixed_files([given(doubt)])

    assert fixed == ()
    assert [each.findings for each in first] == [each.findings for each in after]
    assert any(place.edits for each in first for place in each.found)


def test_corrections_are_counted_over_all_rounds() -> None:
    both = TYPO.replace(
        "  containers", "  tolerations:\n  - {key: a, operator: exists}\n  containers"
    )
    (fixed,), _, after, _ = fixed_files([given(both), given(POD, "b.yaml")])

    assert (fixed.file, fixed.places) == ("a.yaml", 2)
    assert "resources:" in fixed.after
    assert "operator: Exists" in fixed.after
    assert all(not each.findings for each in after)


def test_the_difference_is_shown_by_lines() -> None:
    assert Fixed("f", "a: 1\nb: 1\n", "a: 2\nb: 1\n", 1).diff() == (
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 2\n b: 1\n"
    )
    assert Fixed("f", "a: 1\r\n", "a: 2\r\n", 1).diff() == (
        "--- f\n+++ f\n@@ -1 +1 @@\n-a: 1\n+a: 2\n"
    )


def test_a_file_that_has_changed_meanwhile_is_left(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    file.chmod(0o640)
    fixed = Fixed(str(file), "a: 1\n", "a: 2\n", 1)
    write([fixed])

    assert file.read_bytes() == b"\xef\xbb\xbfa: 2\n"
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="has changed since it was read"):
        write([fixed])
    write([Fixed("-", "a", "b", 1)])
    assert [each.name for each in tmp_path.iterdir()] == ["a.yaml"]
