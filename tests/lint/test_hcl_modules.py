"""What modules of Terraform make of what they are given, as Terraform itself plans it."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.hcl import modules
from eks_gpushare.lint.readers import terraform
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ROOTS = "eks_gpushare.lint.terraform_roots"
FILES = {
    "main.tf": """\
resource "KIND" "plain" {
  VALUE = "a"
}
resource "KIND" "off" {
  count = 0
  VALUE = "a"
}
resource "KIND" "two" {
  count = "2"
  VALUE = "n${count.index}"
}
resource "KIND" "map" {
  for_each = { a = "x", b = "y" }
  VALUE    = "${each.key}${each.value}"
}
resource "KIND" "set" {
  for_each = toset(["a"])
  VALUE    = each.value
}
resource "KIND" "none" {
  for_each = {}
  VALUE    = "a"
}
resource "KIND" "nothing" {
  for_each = toset([])
  VALUE    = "a"
}
resource "KIND" "of_another" {
  VALUE = "${KIND.plain.VALUE}"
}
resource "KIND" "of_files" {
  VALUE = "${var.first}-${var.second}-${var.third}"
}
resource "KIND" "of_outputs" {
  VALUE = "${module.one.name}-${module.each["a"].name}-${module.two[1].name}"
}
resource "KIND" "of_paths" {
  VALUE = "${path.module}-${path.root}-${module.one.path}-${module.one.inner}"
}
locals {
  named = "in main"
}
variable "first" {
  default = "default"
}
variable "second" {
  default = "default"
}
variable "third" {
  default = "default"
}
module "one" {
  source   = "./modules/m"
  name     = "one"
  nothing  = null
  not_null = null
  typed    = {}
}
module "each" {
  source   = "./modules/m"
  for_each = { a = 1, b = 2 }
  name     = each.key
  typed    = { a = "given" }
}
module "two" {
  source = "./modules/m"
  count  = 2
  name   = "n${count.index}"
}
module "off" {
  source = "./modules/m"
  count  = 0
}
""",
    "modules/m/main.tf": """\
variable "name" {
  default = ""
}
variable "empty" {
  default = ""
}
variable "nothing" {
  default = "default"
}
variable "not_null" {
  default  = "default"
  nullable = false
}
variable "typed" {
  type    = object({ a = optional(string, "of the type") })
  default = {}
}
resource "KIND" "it" {
  VALUE = "${var.name}-${coalesce(var.nothing, "null")}-${var.not_null}-${var.typed.a}${var.empty}"
}
module "inner" {
  source = "../n"
  name   = var.name
}
output "name" {
  value = "out-${var.name}"
}
output "path" {
  value = path.module
}
output "inner" {
  value = module.inner.path
}
""",
    "modules/n/main.tf": """\
variable "name" {}
resource "KIND" "it" {
  count = var.name == "n1" ? 1 : 0
  VALUE = var.name
}
output "path" {
  value = path.module
}
""",
    "z.tf": """\
resource "KIND" "over" {
  count = 2
  VALUE = "z"
}
resource "KIND" "over_twice" {
  VALUE = local.named
}
module "over" {
  source = "./modules/n"
  name   = "n0"
}
variable "over" {
  default = "z"
}
""",
    "a_override.tf": """\
resource "KIND" "over" {
  VALUE = "a${var.over}"
}
resource "KIND" "over_twice" {
  VALUE = "a"
}
module "over" {
  name = "n1"
}
locals {
  named = "in an override"
}
""",
    "b.of_override.tf": """\
variable "over" {
  default = "b"
}
resource "KIND" "over_twice" {
  VALUE = local.named
}
""",
    "override.tf": 'resource "KIND" "over" {\n  count = 1\n}\n',
    "overrides.tf": 'resource "KIND" "not_over" {\n  VALUE = "a"\n}\n',
    "terraform.tfvars": 'first = "terraform"\nsecond = "terraform"\nthird = "terraform"\n',
    "terraform.tfvars.json": '{"second": "json", "third": "json"}\n',
    "a.auto.tfvars": 'third = "automatic"\n',
}
"""KIND and VALUE are `terraform_data` and its `input` for Terraform, which needs no provider."""
PLANNED = {
    "KIND.plain": "a",
    "KIND.two[0]": "n0",
    "KIND.two[1]": "n1",
    'KIND.map["a"]': "ax",
    'KIND.map["b"]': "by",
    'KIND.set["a"]': "a",
    "KIND.of_another": "a",
    "KIND.of_files": "terraform-json-automatic",
    "KIND.of_outputs": "out-one-out-a-out-n1",
    "KIND.of_paths": ".-.-modules/m-modules/n",
    "KIND.not_over": "a",
    "KIND.over[0]": "ab",
    "KIND.over_twice": "in an override",
    "module.one.KIND.it": "one-null-default-of the type",
    'module.each["a"].KIND.it': "a-default-default-given",
    'module.each["b"].KIND.it': "b-default-default-given",
    "module.two[0].KIND.it": "n0-default-default-of the type",
    "module.two[1].KIND.it": "n1-default-default-of the type",
    "module.two[1].module.inner.KIND.it[0]": "n1",
    "module.over.KIND.it[0]": "n1",
}


def made_of(files: Mapping[str, str], folder: str = "nowhere/") -> dict[str, Any]:
    """The names of node groups by their addresses."""
    filled = filled_in(files, "aws_eks_node_group", "node_group_name")
    read = read_files([GivenFile(f"{folder}{name}", text) for name, text in filled.items()])
    assert read.terraform.broken == []
    named = {each.source.name: each.name for each in read.items if isinstance(each, NodeSet)}
    return {address.replace("aws_eks_node_group", "KIND"): of for address, of in named.items()}


SPACES = """\
resource "kubernetes_namespace" "own" {
  for_each = { a = "baseline", b = "privileged" }
  metadata {
    name   = "gpu-${each.key}"
    labels = { "pod-security.kubernetes.io/enforce" = each.value }
  }
}
resource "kubernetes_namespace" "two" {
  count = 2
  metadata {
    name = "n${count.index}"
  }
}
resource "helm_release" "plugin" {
  name      = "plugin"
  chart     = "nvidia-device-plugin"
  namespace = REFERENCE
}
"""


@pytest.mark.parametrize(
    ("reference", "space"),
    [
        ('kubernetes_namespace.own["a"].metadata[0].name', "gpu-a"),
        ('kubernetes_namespace.own["b"].metadata[0].name', "gpu-b"),
        ('kubernetes_namespace.own["c"].metadata[0].name', UNKNOWN),
        ("kubernetes_namespace.own[var.key].metadata[0].name", UNKNOWN),
        ("kubernetes_namespace.two[1].metadata[0].name", "n1"),
        ("kubernetes_namespace.two[0].id", UNKNOWN),
    ],
)
def test_a_copy_of_a_resource_is_told_by_its_key(reference: str, space: object) -> None:
    text = SPACES.replace("REFERENCE", reference)
    read = read_files([GivenFile("main.tf", text)])

    assert [each.namespace for each in read.items if isinstance(each, Release)] == [space]
    codes = {
        each.code for report in lint_files([GivenFile("main.tf", text)]) for each in report.findings
    }
    assert ("GPU1256" in codes) is (space == "gpu-a")


def test_it_makes_what_terraform_plans() -> None:
    assert made_of(FILES) == PLANNED


def test_what_is_kept_of_terraform_is_what_it_plans_now(tmp_path: Path) -> None:
    terraform = shutil.which("terraform")
    if terraform is None:
        pytest.skip("terraform is not on PATH; what it planned is kept above")
    for name, text in filled_in(FILES, "terraform_data", "input").items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def run(*words: str) -> str:
        done = subprocess.run(
            [terraform, *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=300,
            check=True,
        )
        return done.stdout

    run("init")
    run("plan", "-out=plan")
    planned = json.loads(run("show", "-json", "plan"))["planned_values"]["root_module"]

    assert {
        name.replace("terraform_data", "KIND"): of for name, of in resources(planned)
    } == PLANNED


def filled_in(files: Mapping[str, str], kind: str, value: str) -> dict[str, str]:
    return {n: text.replace("KIND", kind).replace("VALUE", value) for n, text in files.items()}


def resources(module: dict[str, Any]) -> list[tuple[str, str]]:
    own = [(each["address"], each["values"]["input"]) for each in module.get("resources", ())]
    return [*own, *(of for inner in module.get("child_modules", ()) for of in resources(inner))]


ONE = 'resource "KIND" "one" {\n  VALUE = %s\n}\n'
ANY = 'variable "it" {\n}\n'


def several(count: str, value: str) -> str:
    return (ANY + ONE % value).replace("{\n  VALUE", f"{{\n  {count}\n  VALUE")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (several("count = var.it", '"n${count.index}"'), {"KIND.one[0]": "n0"}),
        (several("count = 1", '"n${count.index}"'), {"KIND.one[0]": "n0"}),
        (several("for_each = var.it", "each.key"), {"KIND.one[?]": UNKNOWN}),
        (several('for_each = toset(["a", var.it])', "each.key"), {"KIND.one[?]": UNKNOWN}),
        (several("for_each = { for n in var.it : n => n }", "each.key"), {"KIND.one[?]": UNKNOWN}),
        (several("for_each = null", "each.key"), {}),
        (ONE % "var.undeclared", {"KIND.one": UNKNOWN}),
        (ONE % "path.other", {"KIND.one": UNKNOWN}),
    ],
)
def test_what_is_not_known_is_looked_at_once(text: str, made: dict[str, Any]) -> None:
    assert made_of({"main.tf": text, "terraform.tfvars": 'undeclared = "a"\n'}) == made


CALL = 'module "m" {\n  source = "%s"\n}\n'


@pytest.mark.parametrize("source", ["./none", "modules/m", "${var.it}"])
def test_a_module_that_is_not_there_takes_nothing_away(source: str) -> None:
    """One that is named like one of a registry is none of a folder, whatever lies there."""
    files = {"main.tf": ANY + CALL % source + ONE % '"a"', "modules/m/main.tf": ONE % '"b"'}
    read = read_files([GivenFile(f"nowhere/{name}", text) for name, text in files.items()])

    assert {root.name for root in read.terraform.roots} == {"nowhere", "nowhere/modules/m"}
    assert made_of({"main.tf": files["main.tf"]}) == {"KIND.one": "a"}


@pytest.mark.parametrize(("most", "made"), [(1, ["a"]), (2, ["a", "b"])])
def test_modules_within_modules_have_an_end(
    most: int, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules, "_MOST_DEPTH", most)
    files = {
        "main.tf": CALL % "./a",
        "a/main.tf": ONE % '"a"' + CALL % "../b",
        "b/main.tf": ONE % '"b"',
    }

    assert list(made_of(files).values()) == made


def test_types_of_json_give_no_defaults() -> None:
    """Expressions in the texts that JSON has for types are not read."""
    typed = {"variable": {"it": {"type": "object({ a = optional(string, 1) })"}}}
    files = {
        "main.tf": 'module "m" {\n  source = "./m"\n  it = { b = "given" }\n}\n',
        "m/v.tf.json": json.dumps(typed),
        "m/main.tf": ONE % "var.it.b",
    }

    assert made_of(files) == {"module.m.KIND.one": "given"}


@pytest.mark.parametrize(("most", "made"), [(1, {}), (2, {"KIND.one": "a"})])
def test_a_folder_of_too_many_files_is_not_read(
    most: int, made: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{ROOTS}._MOST_FILES", most)

    assert made_of({"a.tf": ONE % '"a"', "b.tf": ANY}) == made


def test_a_defect_takes_one_root_away(monkeypatch: pytest.MonkeyPatch) -> None:
    read = terraform.read_resources

    def fails(resources: Any, *more: Any) -> Any:
        if any("one" in each.address for each in resources):
            raise KeyError
        return read(resources, *more)

    monkeypatch.setattr(f"{ROOTS}.read_resources", fails)
    filled = filled_in({"text": ONE % '"a"'}, "aws_eks_node_group", "node_group_name")["text"]
    files = {"a/b.tf": filled, "a/a.tf": ANY, "b/a.tf": filled.replace('"one"', '"other"')}
    found = {
        report.file: [each.code for each in report.findings if each.code == "GPU012"]
        for report in lint_files([GivenFile(f"nowhere/{n}", text) for n, text in files.items()])
    }

    assert found == {"nowhere/a/b.tf": [], "nowhere/a/a.tf": ["GPU012"], "nowhere/b/a.tf": []}


FOUND = ONE.replace("{", '{\n  for_each = fileset(path.module, "**/*.yaml")', 1) % "each.key"


@pytest.mark.parametrize("inside", [True, False])
def test_files_are_those_that_terraform_finds(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `terraform console` of 1.11.4 says, but for folders of git and of Terraform itself."""
    for name in ("p/a.yaml", "p/.d/b.yaml", ".c.yaml", ".git/d.yaml", ".terraform/m/e.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path if inside else tmp_path.parent)
    files = {"main.tf": FOUND, "given/f.yaml": "", "given.yaml": ""}
    made = made_of(files, "" if inside else f"{tmp_path}/")

    assert list(made.values()) == [
        *(".c.yaml", "given.yaml", "given/f.yaml", "p/.d/b.yaml", "p/a.yaml")
    ]


def test_files_of_other_folders_are_none_of_a_pattern() -> None:
    files = {"a/main.tf": FOUND, "a/b.yaml": "", "ab/c.yaml": "", "c.yaml": ""}

    assert made_of(files) == {'KIND.one["b.yaml"]': "b.yaml"}


@pytest.mark.parametrize(("most", "made"), [(3, ["a.yaml", "b.yaml"]), (2, [UNKNOWN])])
def test_of_too_many_files_it_is_not_known_which(
    most: int, made: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(f"{ROOTS}._MOST_BELOW", most)

    files = {"main.tf": FOUND, "a.yaml": "", "b.yaml": ""}
    assert list(made_of(files, f"{tmp_path}/").values()) == made


def test_a_file_that_is_no_text_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\xff")
    (tmp_path / "good").write_text("text", encoding="utf-8")
    text = ONE % 'file("bad")' + ONE.replace("one", "two") % 'file("good")'

    assert made_of({"main.tf": text}, f"{tmp_path}/") == {"KIND.one": UNKNOWN, "KIND.two": "text"}


def test_only_files_of_charts_and_objects_are_judged_with_their_resource() -> None:
    text = """\
resource "helm_release" "a" {
  chart  = "gpu-operator"
  values = [file("values.yaml")]
}
resource "aws_launch_template" "a" {
  user_data = base64encode(file("boot.yaml"))
}
"""
    files = {"main.tf": text, "values.yaml": "a: 1", "boot.yaml": "a: 1"}
    read = read_files([GivenFile(f"nowhere/{name}", text) for name, text in files.items()])

    assert read.terraform.taken == {"nowhere/values.yaml"}
