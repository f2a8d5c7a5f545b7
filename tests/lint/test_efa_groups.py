"""Security groups of EFA interfaces have rules that name themselves, in and out."""

from __future__ import annotations

from zlib import crc32

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

CODE = "GPU1400"
NODES = """\
resource "aws_launch_template" "gpu" {
  name          = "gpu"
  instance_type = "g6.8xlarge"
  network_interfaces {
    device_index    = 0
    interface_type  = "efa"
    security_groups = [aws_security_group.own.id]
  }
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "own"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  launch_template {
    id      = aws_launch_template.gpu.id
    version = 1
  }
  scaling_config {
    min_size     = 2
    desired_size = 2
    max_size     = 4
  }
}
"""
ANY = 'cidr_blocks = ["0.0.0.0/0"]'
SELF = "self = true"


def inline(into: str = SELF, out: str = ANY, more: str = "") -> str:
    block = '{{\n    from_port = 0\n    to_port = 0\n    protocol = "-1"\n    {}\n  }}\n'
    return (
        'resource "aws_security_group" "own" {\n'
        f"  ingress {block.format(into)}  egress {block.format(out)}{more}}}\n"
    )


BARE = 'resource "aws_security_group" "own" {}\n'
OWN = "aws_security_group.own.id"


def older(way: str, what: str, of: str = OWN) -> str:
    return (
        f'resource "aws_security_group_rule" "r{crc32(f"{way}{what}{of}".encode())}" {{\n'
        f'  type = "{way}"\n  protocol = "-1"\n  from_port = 0\n  to_port = 0\n'
        f"  security_group_id = {of}\n  {what}\n}}\n"
    )


def newer(way: str, what: str, of: str = OWN) -> str:
    return (
        f'resource "aws_vpc_security_group_{way}_rule" "r{crc32(f"{way}{what}{of}".encode())}" {{\n'
        f'  ip_protocol = "-1"\n  security_group_id = {of}\n  {what}\n}}\n'
    )


BY_GROUP = f"referenced_security_group_id = {OWN}"
BY_ANY = 'cidr_ipv4 = "0.0.0.0/0"'


def told(text: str, **more: str) -> list[str]:
    files = {
        "main.tf": text,
        **{name.replace("__", "/") + ".tf": each for name, each in more.items()},
    }
    reports = lint_files([GivenFile(name, each) for name, each in files.items()])
    return [each.message for report in reports for each in report.findings if each.code == CODE]


@pytest.mark.parametrize(
    ("rules", "ways"),
    [
        (inline(), ["egress"]),
        (inline(SELF, SELF), []),
        (inline(ANY, ANY), ["ingress", "egress"]),
        (inline(ANY, SELF), ["ingress"]),
        (inline(SELF, "self = false"), ["egress"]),
        (inline(SELF, "self = var.own"), []),
        (inline() + older("egress", SELF), []),
        (inline() + older("egress", f"source_security_group_id = {OWN}"), []),
        (inline() + older("egress", ANY), ["egress"]),
        (inline() + older("egress", SELF, "aws_security_group.other.id"), ["egress"]),
        (inline() + older("egress", SELF, "var.other"), ["egress"]),
        (inline() + older("egress", SELF, '"sg-0123456789abcdef0"'), ["egress"]),
        (inline() + older("egress", SELF, "module.eks.node_security_group_id"), ["egress"]),
        (inline() + older("egress", SELF, f"var.a ? {OWN} : var.b"), []),
        (inline() + older("egress", ANY, f"var.a ? {OWN} : var.b"), []),  # of this one or not
        (inline() + older("${var.way}", ANY), []),  # of either way
        (inline() + older("egress", ANY).replace('type = "egress"', 'type = ["egress"]'), []),
        (BARE + newer("ingress", BY_GROUP) + newer("egress", BY_ANY), ["egress"]),
        (BARE + newer("ingress", BY_ANY) + newer("egress", BY_GROUP), ["ingress"]),
        (BARE + newer("ingress", BY_GROUP) + newer("egress", BY_GROUP), []),
        (BARE + newer("ingress", BY_GROUP), []),  # the other way stands elsewhere
        (BARE, []),
        ('resource "aws_security_group" "own" {\n  egress = var.rules\n}\n', []),
        (inline().partition("egress")[0] + "  egress = var.rules\n}\n", []),
        (
            inline(
                more='  dynamic "egress" {\n    for_each = var.a\n'
                "    content { self = true }\n  }\n"
            ),
            [],
        ),
        (inline(more="  ${more}\n"), []),  # to be filled in
    ],
)
def test_groups_let_through_what_comes_of_themselves(rules: str, ways: list[str]) -> None:
    assert [each.split()[1] for each in told(NODES + rules)] == ways


def test_what_is_said_of_it() -> None:
    (message,) = told(NODES + inline())
    assert message == (
        "No egress rule of aws_security_group.own is for traffic to itself, and the EFA "
        "interfaces of aws_launch_template.gpu have this group alone: rules for addresses let no "
        "traffic of EFA through."
    )


@pytest.mark.parametrize(
    ("old", "new", "times"),
    [
        ('"efa"', '"efa-only"', 1),
        ('"efa"', '"interface"', 0),
        ('"efa"', "var.kind", 0),
        (f"[{OWN}]", f"[{OWN}, var.of_cluster]", 0),
        (f"[{OWN}]", f'[{OWN}, "sg-0123456789abcdef0"]', 0),
        (f"[{OWN}]", "var.groups", 0),
        (f"[{OWN}]", f"[var.a ? {OWN} : var.b]", 0),
        (f"[{OWN}]", "[aws_security_group.own[0].id]", 1),
        ("g6.8xlarge", "c6in.32xlarge", 0),
        ("max_size     = 4", "max_size     = 1", 0),
        ("    id      = aws_launch_template.gpu.id\n", "    id = var.a\n", 1),  # the only one
        ("  network_interfaces {", "  network_interfaces {}\n  network_interfaces {", 1),
    ],
)
def test_they_are_all_that_interfaces_of_nodes_have(old: str, new: str, times: int) -> None:
    assert old in NODES
    assert len(told(NODES.replace(old, new, 1) + inline())) == times


def test_a_group_of_two_templates_is_told_once() -> None:
    second = NODES.replace('"gpu"', '"two"').replace("template.gpu", "template.two")

    assert len(told(NODES + second + inline())) == 1


def test_what_a_module_is_given_may_be_the_group() -> None:
    call = f'module "rules" {{\n  source = "./rules"\n  group = {OWN}\n}}\n'
    given = 'variable "group" {}\n' + older("egress", SELF, "var.group")

    assert told(NODES + inline() + call, rules__main=given) == []


def test_what_a_module_makes_may_be_given_further_rules() -> None:
    call = 'module "nodes" {\n  source = "./nodes"\n}\n'
    further = older("egress", SELF, "module.nodes.group")

    assert len(told(call, nodes__main=NODES + inline())) == 1
    assert told(call + further, nodes__main=NODES + inline()) == []
