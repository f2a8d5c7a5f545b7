"""Places of what Terraform's files say, what cannot be read, and blocks with their values."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.lint.hcl.blocks import NOTHING, references, values_of
from eks_gpushare.lint.hcl.syntax import is_terraform, parse, parse_variables, template
from eks_gpushare.lint.hcl.values import Place, place_in, plain

FIVE = [(line, 7, "[ is missing") for line in range(2, 7)]


@pytest.mark.parametrize(
    ("text", "faults", "blocks"),
    [
        ("a {\n}\nb {\n  x = [1\n}\n", [(5, 1, "] is missing")], [("a", 1), ("b", 3)]),
        ("\na {\n}\nb {\n  x = [1 2]\n}\n", [(4, 1, "`b {` is not expected there")], [("a", 2)]),
        ("a {\n" + "  x = ]\n" * 7 + "}\n", FIVE, [("a", 1)]),
        (f"a {{\n}}\n@{'é' * 60}\n", [(3, 1, f"`@{'é' * 39}` is not expected there")], [("a", 1)]),
    ],
)
def test_where_a_text_cannot_be_read(
    text: str, faults: list[tuple[int, int, str]], blocks: list[tuple[str, int]]
) -> None:
    parsed = parse("a.tf", text)

    assert [(each.place.line, each.place.column, each.what) for each in parsed.faults] == faults
    assert [(each.type, each.place.line) for each in parsed.body.blocks] == blocks


@pytest.mark.parametrize("read", [parse, parse_variables])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", (1, 1, "it is no JSON")),
        ('{"a": ', (1, 7, "not valid JSON: expecting value")),
        ("[1]", None),
        ('{"a": {}}', None),
    ],
)
def test_where_json_cannot_be_read(
    read: Any, text: str, fault: tuple[int, int, str] | None
) -> None:
    name = "a.tf.json" if read is parse else "a.tfvars.json"
    faults = [(each.place.line, each.place.column, each.what) for each in read(name, text).faults]

    assert faults == ([fault] if fault else [])


def itself(name: str) -> tuple[str]:
    return (name,)


def test_columns_are_counted_in_characters() -> None:
    body = parse("a.tf", "/* é */ b = 1\nc = 2\n").body

    assert body.keys == {"b": Place("a.tf", 1, 9), "c": Place("a.tf", 2, 1)}


def test_a_template_is_in_its_file_or_in_one_of_its_own() -> None:
    here = Place("a.tf", 3, 4)
    inner, outer = template("${x}", here), template("${x}", "t.tpl")
    assert inner is not None
    assert outer is not None

    assert (inner[0].file, inner[0].fixed) == ("a.tf", here)
    assert (outer[0].file, outer[0].fixed) == ("t.tpl", None)


def test_files_of_terraform_are_told_by_their_names() -> None:
    names = ("a.tf", "A.TF.JSON", "a.tofu", "a.yaml")

    assert [is_terraform(name) for name in names] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('p "local" {\n  x = 1\n}', {"p": [{"x": 1}]}),
        ("dynamic {\n  x = 1\n}", {"dynamic": [{"x": 1}]}),
        (
            (
                'dynamic "b" {\n  for_each = [7]\n  iterator = it\n'
                "  content {\n    k = it.key\n    v = it.value\n  }\n}"
            ),
            {"b": [{"k": 0, "v": 7}]},
        ),
        (
            'dynamic "b" {\n  for_each = toset(["x"])\n  content {\n    k = b.key\n  }\n}',
            {"b": [{"k": "x"}]},
        ),
        ('dynamic "b" {\n  for_each = []\n  content {\n  }\n}', {"b": []}),
        (
            'b {\n  x = 1\n}\ndynamic "b" {\n  for_each = []\n  content {\n  }\n}',
            {"b": [{"x": 1}]},
        ),
    ],
)
def test_blocks_have_their_values(text: str, values: dict[str, Any]) -> None:
    assert plain(values_of(parse("a.tf", text).body, NOTHING)) == values


@pytest.mark.parametrize(
    ("over", "place"), [('["x"]', Place("a.tf", 2, 15)), ('toset(["x"])', Place("a.tf", 3, 3))]
)
def test_a_dynamic_block_is_where_its_value_is_written(over: str, place: Place) -> None:
    text = f'dynamic "b" {{\n  for_each = {over}\n  content {{\n  }}\n}}'
    made = values_of(parse("a.tf", text).body, NOTHING)

    assert place_in(made["b"], 0) == place


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            (
                'dynamic "b" {\n  for_each = var.a\n  other {\n  }\n'
                "  content {\n    k = b.value\n  }\n}"
            ),
            {"b": [{"k": {"references": ["b.value"]}}]},
        ),
        ("dynamic {\n  k = var.a\n}", {"dynamic": [{"k": {"references": ["var.a"]}}]}),
        ('p "l" {\n  k = var.a\n}', {"p": [{"k": {"references": ["var.a"]}}]}),
        ("b = var.a\nb {\n  k = var.b\n}", {"b": {"references": ["var.a"]}}),
    ],
)
def test_arguments_and_blocks_refer_to_others(text: str, found: dict[str, Any]) -> None:
    assert references(parse("a.tf", text).body, itself) == found


def test_texts_of_json_refer_to_others() -> None:
    (block,) = parse("a.tf.json", '{"locals": {"a": "${var.b}", "c": 1}}').body.blocks

    assert references(block.body, itself) == {
        "a": {"references": ["var.b"]},
        "c": {"references": []},
    }
