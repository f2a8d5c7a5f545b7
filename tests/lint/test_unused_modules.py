"""Modules of Terraform that the root above them leaves out make nothing, and are not judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import found_in_parts, said

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = """\
resource "aws_eks_cluster" "c" {
  name     = "c"
  role_arn = "arn:aws:iam::111122223333:role/c"
  vpc_config {
    subnet_ids = ["subnet-1", "subnet-2"]
  }
}
"""
ROOT = 'module "vpc" {\n  source = "./modules/vpc"\n}\n# module "eks" { ... }\n'
VPC = 'resource "aws_vpc" "v" {}\n'
FILES = {"a/main.tf": ROOT, "a/modules/vpc/main.tf": VPC, "a/modules/eks/main.tf": CLUSTER}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, False),
        ({"a/main.tf": f'{ROOT}module "eks" {{\n  source = "./modules/eks"\n}}\n'}, True),
        ({"a/main.tf": f'{ROOT}module "eks" {{\n  source = "./modules/eks/inner"\n}}\n'}, True),
        ({"a/main.tf": ROOT.replace("  source", "  # source")}, True),
        ({"a/main.tf": ROOT.replace("./modules/vpc", "./vpc")}, True),
        ({"a/main.tf": VPC}, True),
        ({"b/main.tf": 'module "eks" {\n  source = "../a/modules/eks"\n}\n'}, True),
    ],
)
def test_a_module_that_its_root_leaves_out(
    changes: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = FILES | changes

    assert ("GPU1087" in said(files)) is told
    (tmp_path / "there").mkdir()
    codes = {each.code for each in found_in_parts(tmp_path / "there", files)}
    assert ("GPU1087" in codes) is told


def test_a_folder_of_modules_alone_is_judged() -> None:
    alone = {name: text for name, text in FILES.items() if name != "a/main.tf"}
    elsewhere = {name.replace("modules", "parts"): text for name, text in FILES.items()}

    assert "GPU1087" in said(alone)
    assert "GPU1087" in said(elsewhere)
