"""Data sources that put texts together give what is written."""

from __future__ import annotations

from typing import Any

import pytest
from linted import said
from terraform_locals import locals_of

from eks_gpushare.inventory.source import UNKNOWN

TEMPLATES = """\
data "template_file" "one" {
  template = file("only.tpl")
  vars     = { x = "a" }
}
data "template_file" "inline" {
  template = "x is $${x}, y $${y}"
  vars     = { x = 1 }
}
data "template_file" "bare" {
  template = "no names"
}
data "template_file" "two" {
  count    = 2
  template = "n$${n}"
  vars     = { n = count.index }
}
data "template_file" "each" {
  for_each = { a = "b" }
  template = "$${k}-$${v}"
  vars     = { k = each.key, v = each.value }
}
data "template_file" "unknown" {
  template = var.nowhere
}
data "template_file" "itself" {
  template = data.template_file.itself.rendered
}
data "cloudinit_config" "parts" {
  part {
    content_type = "text/x-shellscript"
    content      = data.template_file.one.rendered
  }
  part { content = "b" }
}
data "cloudinit_config" "none" {}
data "template_cloudinit_config" "old" {
  part { content = var.nowhere }
}
data "aws_ami" "gpu" { owners = ["amazon"] }
locals {
  one     = data.template_file.one.rendered
  inline  = data.template_file.inline.rendered
  bare    = data.template_file.bare.rendered
  two     = data.template_file.two[1].rendered
  each    = data.template_file.each["a"].rendered
  unknown = data.template_file.unknown.rendered
  itself  = data.template_file.itself.rendered
  named   = data.template_file.one.vars
  parts   = data.cloudinit_config.parts.rendered
  none    = data.cloudinit_config.none.rendered
  old     = data.template_cloudinit_config.old.rendered
  ami     = data.aws_ami.gpu.id
  absent  = data.template_file.absent.rendered
}
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("one", "a"),
        ("inline", "x is 1, y ${unknown}"),
        ("bare", "no names"),
        ("two", "n1"),
        ("each", "a-b"),
        ("unknown", UNKNOWN),
        ("itself", UNKNOWN),
        ("named", {"x": "a"}),
        ("none", UNKNOWN),
        ("old", UNKNOWN),
        ("ami", UNKNOWN),
        ("absent", UNKNOWN),
    ],
)
def test_what_is_rendered(name: str, value: Any) -> None:
    assert locals_of({"main.tf": TEMPLATES}).get(name) == value


def test_parts_are_those_of_user_data() -> None:
    found = locals_of({"main.tf": TEMPLATES}).get("parts")

    assert "Content-Type: text/x-shellscript\n\na\n" in found
    assert found.files == {"only.tpl"}


GROUP = """\
data "template_file" "join" {
  template = file("${path.module}/join.tpl")
  vars     = { env = "dev" }
}
resource "aws_launch_template" "gpu" {
  image_id  = "ami-0123456789abcdef0"
  user_data = base64encode(data.template_file.join.rendered)
}
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "c"
  node_group_name = "g"
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["g5.xlarge"]
  launch_template {
    id      = aws_launch_template.gpu.id
    version = aws_launch_template.gpu.latest_version
  }
  scaling_config {
    min_size     = 1
    max_size     = 1
    desired_size = 1
  }
}
"""
JOIN = "#!/bin/bash\n/etc/eks/bootstrap.sh c --kubelet-extra-args '--node-labels=env=${env}'\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {env: ENV}
      containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(("wanted", "told"), [("dev", False), ("prod", True)])
def test_labels_of_a_template_are_those_of_nodes(wanted: str, told: bool) -> None:
    files = {"main.tf": GROUP, "join.tpl": JOIN, "job.yaml": JOB.replace("ENV", wanted)}

    assert ("GPU1112" in said(files)) is told
