"""What files of a folder say together, and which files `fileset` finds."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.hcl.folders import FilesFrom, Folders, ModuleFiles
from eks_gpushare.lint.hcl.syntax import parse

BELOW = ["a.yaml", "ab.yaml", "b.yml", "d/a.yaml", "d/e/c.yml"]


def _files(root: str) -> FilesFrom:
    below = {"root": BELOW, "/abs": BELOW}
    return FilesFrom(Folders(lambda _: None, {"root/a": "text"}.get, below.get), root)


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.yaml", ["a.yaml", "ab.yaml"]),
        ("**", BELOW),
        ("**/*.yml", ["b.yml", "d/e/c.yml"]),
        ("?.yaml", ["a.yaml"]),
        ("*.{yaml,yml}", ["a.yaml", "ab.yaml", "b.yml"]),
        ("d/*", ["d/a.yaml"]),
        ("{a,b}.y*", ["a.yaml", "b.yml"]),
    ],
)
def test_fileset_finds_what_terraform_finds(pattern: str, matching: list[str]) -> None:
    """As `terraform console` of 1.11.4 says of such files."""
    assert _files("root").matching(".", pattern) == matching


def test_files_outside_of_what_is_given_are_not_known() -> None:
    assert _files("root").matching("/abs", "*") is None
    assert _files("root").matching("far", "*") is None
    assert _files("/abs").matching("/abs", "?.yaml") == ["a.yaml"]
    assert _files("root").read("./a") == ("root/a", "text")
    assert _files("root").read("b") is None


@pytest.mark.parametrize(
    ("text", "is_root"),
    [
        ('provider "aws" {\n}', True),
        ('terraform {\n  backend "s3" {\n  }\n}', True),
        ("terraform {\n  cloud {\n  }\n}", True),
        ("terraform {\n  required_providers {\n  }\n}", False),
        ('check "c" {\n  backend "s3" {\n  }\n}', False),
        ("terraform {\n}", False),
    ],
)
def test_a_folder_with_a_provider_or_a_backend_is_applied_by_itself(
    text: str, is_root: bool
) -> None:
    module = ModuleFiles("")
    module.add("main.tf", parse("main.tf", text).body)

    assert module.is_root is is_root


def test_blocks_are_told_apart_by_their_types_and_labels() -> None:
    """One that is not whole yet is none."""
    text = "\n".join(
        f"{head} {{\n}}"
        for head in (
            'resource "a" "b"',
            'resource "a"',
            'data "c" "d"',
            *('module "m"', "module", 'variable "v"', "variable", 'output "o"', "output"),
        )
    )
    module = ModuleFiles("")
    module.add("main.tf", parse("main.tf", text).body)

    assert list(module.resources) == [("a", "b")]
    assert (list(module.calls), list(module.variables)) == (["m"], ["v"])
    assert list(module.outputs) == ["o"]


OVER = """\
resource "a" "b" {
  one {
    x = 1
  }
  two {
    x = 2
  }
  dynamic "three" {
    for_each = [3]
    content {
      x = three.value
    }
  }
}
"""


@pytest.mark.parametrize(
    ("over", "blocks"),
    [
        ("one {\n    x = 4\n  }", ["two", "dynamic", "one"]),
        (
            'dynamic "one" {\n    for_each = []\n    content {\n    }\n  }',
            ["two", "dynamic", "dynamic"],
        ),
        ("three {\n  }", ["one", "two", "three"]),
        ("y = 1", ["one", "two", "dynamic"]),
        ("dynamic {\n  }", ["one", "two", "dynamic", "dynamic"]),
    ],
)
def test_blocks_of_an_override_replace_those_of_their_type(over: str, blocks: list[str]) -> None:
    """https://developer.hashicorp.com/terraform/language/files/override#merging-behavior."""
    module = ModuleFiles("")
    for name, text in (("main.tf", OVER), ("override.tf", f'resource "a" "b" {{\n  {over}\n}}\n')):
        module.add(name, parse(name, text).body)
    (made,) = module.resources.values()

    assert [each.type for each in made.body.blocks] == blocks
    assert made.place.file == "main.tf"


def test_what_an_override_alone_says_is_there_with_what_can_be_read_of_it() -> None:
    module = ModuleFiles("")
    texts = {
        "override.tf": 'output "o" {\n  value = 1\n}\n',
        "main.tf": 'variable "v" {\n  default = 1\n}\n',
        "b_override.tf": 'variable "v" {\n  type = \n}\n',
    }
    for name, text in texts.items():
        module.add(name, parse(name, text).body)

    assert list(module.outputs) == ["o"]
    assert not module.variables["v"].body.is_whole
    assert "default" in module.variables["v"].body.attributes
