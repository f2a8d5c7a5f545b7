"""Units of Terragrunt: what their modules make of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from linted import said

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.parts import Links
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.lint.reading import Reading

MODULE = """\
variable "type" { type = string }
variable "labels" { default = {} }
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "home"
  node_group_name = "gpu"
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = [var.type]
  labels          = var.labels
}
"""
INPUTS = 'inputs = {\n  type     = "g6.xlarge"\n  "labels" = { "pool" = local.pool }\n}\n'
LOCALS = 'locals {\n  pool = "gpu"\n}\n'
OF_REGISTRY = """\
terraform {
  source = "tfr:///terraform-aws-modules/eks/aws//modules/eks-managed-node-group?version=21.6.1"
}
inputs = {
  name           = "gpu"
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g6.xlarge"]
  subnet_ids     = dependency.vpc.outputs.private
}
"""


def unit(source: str, inputs: str = INPUTS, more: str = LOCALS) -> str:
    return f'{more}terraform {{\n  source = "{source}"\n}}\n{inputs}'


def reading(unit: str, **others: str) -> Reading:
    files: Mapping[str, str] = {
        "modules/gpu/main.tf": MODULE,
        "live/eu/gpu/terragrunt.hcl": unit,
        **{f"live/{name.replace('__', '/')}.hcl": text for name, text in others.items()},
    }
    return read_files([GivenFile(*each) for each in files.items()])


def nodes(unit: str, **others: str) -> list[NodeSet]:
    return [each for each in reading(unit, **others).items if isinstance(each, NodeSet)]


@pytest.mark.parametrize(
    "source",
    [
        "../../../modules/gpu",
        "../../../modules//gpu",
        "${get_repo_root()}/modules/gpu",
        "${get_parent_terragrunt_dir()}/../modules//gpu",
        "${dirname(find_in_parent_folders())}/../modules/gpu",
    ],
)
def test_a_module_gets_the_inputs_of_its_unit(source: str) -> None:
    (found,) = nodes(unit(source))

    assert (found.instance_types, found.labels) == (("g6.xlarge",), {"pool": "gpu"})
    assert found.source.name == "aws_eks_node_group.gpu"


def test_a_module_of_the_registry_is_known_by_its_source() -> None:
    found, of_module = nodes(OF_REGISTRY)

    assert (found.instance_types, of_module.instance_types) == (("g6.xlarge",), UNKNOWN)


@pytest.mark.parametrize(
    "text",
    [
        unit("../../../modules/none"),
        unit("${local.modules}/${local.name}"),
        unit("${get_repo_root()}/"),
        unit("../../../modules/gpu", "inputs = merge(local.all, { type = local.type })\n"),
        INPUTS,
        "terraform {\n}\n",
        "terraform {\n  source = local.source\n}\n",
        unit("../../../modules/gpu", more='include "root" {\n  path = local.root\n}\n'),
        unit("../../../modules/gpu", more='include "root" {\n}\n'),
        unit("../../../modules/gpu", more='include "all" {\n  path = "../all.hcl"\n}\n'),
        unit(
            "../../../modules/gpu",
            more='include "all" {\n  path = find_in_parent_folders("none.hcl")\n}\n',
        ),
    ],
)
def test_of_units_that_are_not_seen_whole_nothing_is_known(text: str) -> None:
    found = reading(text, eu__all='inputs = { type = "g5.xlarge" }\n')

    assert [root.name for root in found.terraform.roots] == ["modules/gpu"]
    types = [each.instance_types for each in found.items if isinstance(each, NodeSet)]
    assert types == [UNKNOWN]


def test_of_a_module_that_is_not_here_nothing_is_made() -> None:
    (found,) = nodes(unit("git::ssh://git@example.org/modules.git//gpu"))

    assert found.instance_types is UNKNOWN


@pytest.mark.parametrize(
    "path",
    [
        "find_in_parent_folders()",
        'find_in_parent_folders("root.hcl")',
        '"${get_terragrunt_dir()}/../root.hcl"',
        '"../root.hcl"',
    ],
)
def test_what_a_unit_includes_gives_it_no_inputs(path: str) -> None:
    more = f'{LOCALS}include "root" {{\n  path = {path}\n}}\n'
    others: dict[str, Any] = {"terragrunt": "locals {\n}\n", "eu__root": "remote_state {\n}\n"}
    (found,) = nodes(unit("../../../modules/gpu", more=more), **others)

    assert found.instance_types == ("g6.xlarge",)


def test_a_unit_is_of_the_part_of_its_module() -> None:
    links = Links()
    for name, text in (
        ("modules/gpu/main.tf", MODULE),
        ("live/gpu/terragrunt.hcl", unit("${get_repo_root()}/modules//gpu")),
        ("other/terragrunt.hcl", "locals {}"),
    ):
        links.look_at(GivenFile(name, text))

    assert sorted(map(len, links.parts({}))) == [1, 2]


def test_what_a_unit_says_is_judged() -> None:
    wrong = unit("../../modules/gpu", 'inputs = {\n  type = "g6.xlarg"\n}\n')
    files = [("modules/gpu/main.tf", MODULE), ("live/gpu/terragrunt.hcl", wrong)]
    reports = lint_files([GivenFile(*each) for each in files])

    assert {each.file: each.kinds for each in reports} == {
        "modules/gpu/main.tf": ("Terraform",),
        "live/gpu/terragrunt.hcl": ("Terraform",),
    }
    assert said({"live/gpu/terragrunt.hcl": "terraform {\n  source = [\n"}) == []
