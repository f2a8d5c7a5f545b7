"""Open endpoints that their author knows of, by a comment or a description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every

if TYPE_CHECKING:
    from pathlib import Path

CLUSTER = """\
resource "aws_eks_cluster" "c" {
  name     = "c"
  role_arn = "arn:aws:iam::111122223333:role/c"
  vpc_config {
    subnet_ids          = ["subnet-1", "subnet-2"]
    public_access_cidrs = NETWORKS
  }
}
"""
VARIABLE = """\
variable "other" {
  description = "Open for now."
}
variable "networks" {
  description = "DESCRIBED"
  type        = list(string)

  default     = ["0.0.0.0/0"] COMMENT
}
"""


def severity(**files: str) -> str:
    named = {name.replace("_", "."): text for name, text in files.items()}
    (found,) = [each for each in every(named.items()) if each.code == "GPU1087"]
    return found.severity


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("", "error"),
        ("# Restrict in production", "info"),
        ("// TODO: only the office", "info"),
        ("# to do", "info"),
        ("# restrict to your own address", "info"),
        ("# Tighten this later", "info"),
        ("# open on purpose", "info"),
        ("# for simplicity", "info"),
        ("# temporarily", "info"),
        ("# who may use it", "error"),
        ("# Restrict access to these networks", "error"),
        ("# in productive use", "error"),
        ("# methodology", "error"),
    ],
)
def test_a_comment_beside_the_networks_says_that_it_is_known(comment: str, told: str) -> None:
    open_to_all = CLUSTER.replace("NETWORKS", '["0.0.0.0/0"]')
    above = f"    {comment}\n    # as agreed\n    public"
    apart = f"    {comment}\n    endpoint_private_access = true\n    public"

    assert severity(main_tf=CLUSTER.replace("NETWORKS", f'["0.0.0.0/0"] {comment}')) == told
    assert severity(main_tf=open_to_all.replace("    public", above)) == told
    assert severity(main_tf=open_to_all.replace("    public", apart)) == "error"


@pytest.mark.parametrize(
    ("described", "comment", "told"),
    [
        ("Who may use it.", "", "error"),
        ("Who may use it. Restrict in production.", "", "info"),
        ("Who may use it.", "# for now", "info"),
    ],
)
def test_so_may_the_variable_that_they_are_the_default_of(
    described: str, comment: str, told: str
) -> None:
    variable = VARIABLE.replace("DESCRIBED", described).replace("COMMENT", comment)

    assert severity(main_tf=CLUSTER.replace("NETWORKS", "var.networks"), v_tf=variable) == told


@pytest.mark.parametrize(
    ("name", "told"), [("terraform_tfvars", "info"), ("production_auto_tfvars", "error")]
)
def test_so_may_a_file_of_variables_but_of_production(name: str, told: str) -> None:
    root = CLUSTER.replace("NETWORKS", "var.networks") + 'variable "networks" {}\n'

    assert severity(main_tf=root, **{name: 'networks = ["0.0.0.0/0"] # for now\n'}) == told


def test_a_public_endpoint_without_networks_is_told_where_it_is_switched_on() -> None:
    root = CLUSTER.replace("public_access_cidrs = NETWORKS", "endpoint_public_access = true # TODO")

    assert severity(main_tf=root) == "info"
    assert severity(main_tf=root.replace(" # TODO", "")) == "error"


def test_networks_that_are_not_known_stay_unknown() -> None:
    root = CLUSTER.replace("NETWORKS", "var.networks # for now") + 'variable "networks" {}\n'

    assert severity(main_tf=root) == "info"
    assert severity(main_tf=root.replace(" # for now", "")) == "info"


@pytest.mark.parametrize(
    ("example", "told"),
    [
        ('networks_cidrs = ["10.0.0.0/8"] # Restrict to your own in production', "info"),
        ('# Restrict in production\nnetworks = ["0.0.0.0/0"]', "info"),
        ('networks_cidrs = ["10.0.0.0/8"]', "error"),
        ("size = 3 # in production more, by cidr", "error"),
        ('networks = ["0.0.0.0/0"]\n# In production there are more.', "error"),
        ("", "error"),
    ],
)
def test_so_may_the_example_of_the_variables(
    example: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "terraform.tfvars.example").write_text(f"{example}\n", encoding="utf-8")
    called = 'module "c" {\n  source = "../eks"\n}\n'
    cluster = CLUSTER.replace("NETWORKS", '["0.0.0.0/0"]')
    files = {"dev/main.tf": called, "eks/main.tf": cluster}
    (found,) = [each for each in every(files.items()) if each.code == "GPU1087"]

    assert found.severity == told
    assert severity(main_tf=cluster) == "error"
