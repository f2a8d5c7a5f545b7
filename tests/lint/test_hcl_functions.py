"""Values of expressions are those that Terraform itself computes."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from terraform_locals import FILES, locals_of

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.folders import Folders, ModuleFiles
from eks_gpushare.lint.hcl.functions import FUNCTIONS, call
from eks_gpushare.lint.hcl.modules import Instance
from eks_gpushare.lint.hcl.syntax import parse
from eks_gpushare.lint.hcl.values import (
    HclList,
    HclObject,
    OpenObject,
    Place,
    Text,
    files_in,
    place_in,
    plain,
)

KEPT = Path(__file__).parent / "data" / "terraform-values.json"
CASES: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
GIVEN = """\
variable "v" {
  default = "vee"
}
locals {
  m = { a = 1, b = [1, 2, { c = "d" }] }
  l = ["x", "y", "z"]
  o = [{ n = "a", e = true }, { n = "b", e = false }]
}
"""


def _block(name: str, case: dict[str, Any]) -> str:
    """An expression as a local, by a variable of a type where it has one."""
    if "type" not in case:
        return f"locals {{\n  {name} = {case['expression']}\n}}\n"
    variable = f"  type    = {case['type']}\n  default = {case['expression']}\n"
    return f'variable "{name}" {{\n{variable}}}\nlocals {{\n  {name} = var.{name}\n}}\n'


def configuration() -> dict[str, str]:
    """All cases as locals, and what they refer to."""
    of_json = {f"x{n}": case["json"] for n, case in enumerate(CASES) if "json" in case}
    blocks = [_block(f"x{n}", case) for n, case in enumerate(CASES) if "json" not in case]
    return {
        "main.tf": "".join((GIVEN, *blocks)),
        "more.tf.json": json.dumps({"locals": of_json}),
    }


def evaluated(text: str, *names: str) -> list[Any]:
    """The values of some locals."""
    local = locals_of({"main.tf": text})
    return [plain(local.get(name)) for name in names]


@cache
def ours() -> list[Any]:
    local = locals_of(configuration())
    return [plain(local.get(f"x{number}")) for number, _ in enumerate(CASES)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: str(CASES[n])[16:56])
def test_the_value_is_what_terraform_says(number: int) -> None:
    assert ours()[number] == CASES[number]["value"]


def test_what_is_kept_of_terraform_is_what_it_says_now(tmp_path: Path) -> None:
    """As said with `terraform console`, in which no provider is needed and nothing is asked."""
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not on PATH; what it said is kept in the file beside")
    for name, text in {**configuration(), **FILES}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    names = ", ".join(f"x{number} = local.x{number}" for number, _ in enumerate(CASES))
    asked = f"jsonencode({{ {names} }})\n"
    done = subprocess.run(
        [terraform, "console"],
        input=asked,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=True,
    )
    said = json.loads(json.loads(done.stdout.strip().splitlines()[-1]))

    assert [said[f"x{number}"] for number, _ in enumerate(CASES)] == [
        case["value"] for case in CASES
    ]


UNKNOWNS = """\
variable "it" {}
locals {
  merged_over  = merge({ a = 1 }, var.it)
  merged_below = merge(var.it, { a = 1 })
  listed       = concat(["a"], var.it)
  chosen       = var.it ? "a" : "b"
  the_same     = var.it ? "a" : "a"
  decided_and  = var.it && false
  decided_or   = true || var.it
  tried        = try(var.it.x, "b")
  text         = "a-${var.it}"
  length       = length(var.it)
  key          = { (var.it) = 1, b = 2 }
  of_a_part    = lookup({ "a-${var.it}" = 1, b = 2 }, "c", 3)
  each         = [for one in var.it : one]
  missing      = { a = 1 }.b
  itself       = local.itself
  no_function  = uuid()
  wrong        = substr(1)
  no_rounds    = { for one in var.it : one => 1 }
  maybe_kept   = { for one in ["a", "b"] : one => 1 if one == "b" || var.it }
  named_later  = { for one in ["a", "b"] : one == "b" ? "b" : var.it => 1 }
  maybe_wrong  = try(var.it ? local.itself.x : {}.y, "b")
  one_is_wrong = [{}.y, "a"]
  no_template  = templatefile("only.tpl")
  which_file   = templatefile(var.it, {})
  what_file    = templatefile("none.tpl", {})
  no_end       = templatefile("broken.tpl", {})
  spread       = aws_instance.a[*].id
  with_more    = templatefile("only.tpl", {}, {})
}
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("merged_below", {"a": 1}),
        ("merged_over", {"a": UNKNOWN}),
        ("listed", ["a", UNKNOWN]),
        ("chosen", UNKNOWN),
        ("the_same", "a"),
        ("decided_and", False),
        ("decided_or", True),
        ("tried", UNKNOWN),
        ("text", "a-${unknown}"),
        ("length", UNKNOWN),
        ("key", {"b": 2}),
        ("of_a_part", UNKNOWN),
        ("each", UNKNOWN),
        ("missing", UNKNOWN),
        ("itself", UNKNOWN),
        ("no_function", UNKNOWN),
        ("wrong", UNKNOWN),
        *(("no_rounds", UNKNOWN), ("maybe_kept", {"b": 1}), ("named_later", {"b": 1})),
        *(("maybe_wrong", UNKNOWN), ("one_is_wrong", [UNKNOWN, "a"])),
        *(
            (name, UNKNOWN)
            for name in ("no_template", "which_file", "what_file", "with_more", "no_end", "spread")
        ),
    ],
)
def test_what_follows_from_the_unknown(name: str, value: Any) -> None:
    (found,) = evaluated(UNKNOWNS, name)

    assert found == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(("1 < 1", False), ("1 <= 1", True), ("1 <= 2", True), ("2 <= 1", False)),
        *(("1 > 1", False), ("1 >= 1", True), ("1 >= 2", False), ("2 >= 1", True)),
        *(("5 + 0", 5), ("5 / 1", 5), ("5 / 2", 2.5), ("5 / 0", UNKNOWN), ("5 % 0", UNKNOWN)),
        *(("0.5 % 3", 0.5), ("-4 % 3", -1), ("0 % 3", 0), ('"4" * 2', 8), ('"a" + 1', UNKNOWN)),
        *(("true == 1", False), ('"1" == 1', False), ("1 == 1", True), ('"a" != "b"', True)),
        *(('var.it == "a"', UNKNOWN), ('"a-${var.it}" == "b"', UNKNOWN), ("-var.it", UNKNOWN)),
        *(('!"false"', True), ('!"true"', False), ('["a"][-1]', UNKNOWN), ('["a"][0]', "a")),
        *(("var.it + 1", UNKNOWN), ("1 + var.it", UNKNOWN), ("!var.it", UNKNOWN)),
    ],
)
def test_an_operator_between_operands_that_are_known_or_not(expression: str, value: Any) -> None:
    (found,) = evaluated(f'variable "it" {{}}\nlocals {{ x = {expression} }}', "x")

    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *(('lookup({ a = 1 }, var.it, "d")', UNKNOWN), ('lookup(var.it, "a", "d")', UNKNOWN)),
        ('lookup(merge({ a = 1 }, var.it), "b", "d")', UNKNOWN),
        *(("length(merge({ a = 1 }, var.it))", UNKNOWN), ('length("a-${var.it}")', UNKNOWN)),
        *(('element(["a", "b"], var.it)', UNKNOWN), ('element(["a", var.it], 0)', UNKNOWN)),
        *(("element(var.it, 0)", UNKNOWN), ('zipmap(["a", var.it], [1, 2])', UNKNOWN)),
        *(("zipmap(var.it, [1])", UNKNOWN), ('zipmap(["a"], var.it)', UNKNOWN)),
        # Terraform refuses both: more than 1,024 values.
        *(("range(1025)", UNKNOWN), ("range(1, 5, 0)", UNKNOWN)),
        # Parts of a text that are not known leave open whether it is another.
        *(('jsonencode({ a = 1 }) == "b"', False), ('jsonencode({ a = var.it }) == "b"', UNKNOWN)),
        ("jsonencode(merge({ a = 1 }, var.it))", UNKNOWN),
        *(('join("-", ["a"]) == "b"', False), ('join("-", ["a-${var.it}"]) == "b"', UNKNOWN)),
        *(('join("-", [var.it]) == "b"', UNKNOWN), ('join("-", var.it)', UNKNOWN)),
        *(('join("-", [null]) == "b"', UNKNOWN), ('join(var.it, ["a"])', UNKNOWN)),
        *(
            ('yamldecode("a: 1\\n---\\nb: 2")', UNKNOWN),
            ('yamldecode("a: 1\\n---\\n- [")', UNKNOWN),
        ),
        *(('base64encode("a-${var.it}")', "a-${unknown}"), ("base64encode(var.it)", UNKNOWN)),
        *(('indent(var.it, "a\\nb")', UNKNOWN), ("indent(2, var.it)", UNKNOWN)),
        *(
            ('upper("a-${var.it}")', UNKNOWN),
            ("upper(var.it)", UNKNOWN),
            ("sum([var.it])", UNKNOWN),
        ),
    ],
)
def test_what_functions_make_of_what_is_known_in_part(expression: str, value: Any) -> None:
    (found,) = evaluated(f'variable "it" {{}}\nlocals {{ x = {expression} }}', "x")

    assert type(found) is type(value)
    assert found == value


class _EveryFile:
    """Files, of which every one is there."""

    def read(self, path: str) -> tuple[str, str]:
        return path, "text"

    def matching(self, folder: str, pattern: str) -> list[str] | None:
        return None if pattern == "far" else [f"{folder}/b", f"{folder}/a"]


class _NoFile(_EveryFile):
    def read(self, path: str) -> None:  # type: ignore[override]  # noqa: ARG002
        return None


_GAPS = Text("a-${unknown}", gaps=True)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        *(("file", ["a"], "text"), ("file", [UNKNOWN], UNKNOWN), ("file", [_GAPS], UNKNOWN)),
        *(("fileexists", ["a"], True), ("fileexists", [UNKNOWN], UNKNOWN)),
        *(("fileexists", [_GAPS], UNKNOWN), ("fileset", [_GAPS, "*"], UNKNOWN)),
        *(("fileset", ["a", _GAPS], UNKNOWN), ("fileset", ["a", "far"], UNKNOWN)),
        ("fileset", ["d", "*"], ["d/a", "d/b"]),
    ],
)
def test_functions_of_files_whose_names_are_known_or_not(
    name: str, given: list[Any], value: Any
) -> None:
    assert plain(call(name, given, _EveryFile())) == value


def test_a_file_that_is_not_there_may_be_made_yet() -> None:
    assert call("fileexists", ["a"], _NoFile()) is UNKNOWN


def test_the_files_and_the_places_that_a_value_is_written_in() -> None:
    here, there = Place("a.tf", 1, 1), Place("b.tf", 2, 1)
    text = Text("x", encoded=HclList(["y"], [Place("c.tf", 1, 1)]), files=frozenset(("d.tpl",)))
    value = HclObject({"k": HclList([text, 1, 2], [there, None])}, {"k": here})

    assert files_in(value) == {"a.tf", "b.tf", "c.tf", "d.tpl"}
    assert place_in(value, "k") == here
    assert [place_in(value["k"], key) for key in (0, 1, 2, "k")] == [there, None, None, None]
    assert place_in(["x"], 0) is None


@pytest.mark.parametrize(
    "name", ["merged_over", "merged_below", "key", "maybe_kept", "named_later"]
)
def test_an_object_that_may_have_more_keys_says_so(name: str) -> None:
    (found,) = evaluated(UNKNOWNS, name)

    assert isinstance(found, OpenObject)
    assert found.get("z") is UNKNOWN


def test_no_call_of_a_function_raises() -> None:
    for name in FUNCTIONS - {"try", "can", "templatefile"}:
        for given in ("", "null", "1", '"a"', "[]", '{}, "b"', '["a"], {a = 1}, -1', "var.it"):
            evaluated(f'variable "it" {{}}\nlocals {{ x = {name}({given}) }}', "x")


def test_the_defaults_in_the_type_of_a_variable_hold() -> None:
    text = """\
variable "groups" {
  type = map(object({
    size  = optional(number, 3)
    taint = optional(object({ key = optional(string, "k") }), {})
    other = optional(string)
  }))
  default = { gpu = { size = 1 }, cpu = { taint = { key = "t" } } }
}
locals { x = var.groups }
"""
    (found,) = evaluated(text, "x")

    assert found == {
        "gpu": {"size": 1, "taint": {"key": "k"}, "other": None},
        "cpu": {"size": 3, "taint": {"key": "t"}, "other": None},
    }


def test_the_type_of_a_variable_of_which_not_all_is_known() -> None:
    text = """\
variable "it" {}
variable "groups" {
  type = list(object({
    size  = optional(number, 3)
    names = list(string)
    zone  = string
  }))
}
variable "sizes" {
  type = map(object({ size = optional(number, 3) }))
}
"""
    module = ModuleFiles("")
    module.add("main.tf", parse("main.tf", text).body)
    folders = Folders(lambda _: None, FILES.get, lambda _: sorted(FILES))
    given = {
        "groups": HclList([HclObject({"names": ["a"]}), OpenObject({"zone": "b"}), 5]),
        "sizes": OpenObject({"a": HclObject()}),
    }
    var = Instance(module, folders, "", given, is_called=True).named("var")
    groups, sizes = var.get("groups"), var.get("sizes")

    assert groups == [{"names": ["a"], "size": 3, "zone": None}, {"zone": "b"}, 5]
    assert [type(each) for each in groups] == [HclObject, OpenObject, int]
    assert (type(sizes), sizes) == (OpenObject, {"a": {"size": 3}})
