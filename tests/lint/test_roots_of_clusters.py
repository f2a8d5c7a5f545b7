"""What Terraform's root of a cluster says of its nodes, and of charts that are to run on them."""

from __future__ import annotations

import pytest
from linted import found
from linted import said_of as said

CLUSTER = """\
resource "aws_eks_cluster" "one" {
  name = "one"
  VERSION
}
"""
GROUP = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "one"
  instance_types = ["g5.xlarge"]
  ami_type       = "AL2023_x86_64_NVIDIA"
  scaling_config {
    min_size = 0
    max_size = 2
  }
}
"""
POOL = """\
resource "kubectl_manifest" "class" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "gpu" }
    spec       = { amiSelectorTerms = [{ alias = "al2023@latest" }] }
  })
}
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "gpu" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "gpu" }
      requirements = [
        { key = "node.kubernetes.io/instance-type", operator = "In", values = ["g5.xlarge"] },
      ]
    } } }
  })
}
"""
PLUGIN = """\
resource "helm_release" "plugin" {
  name       = "plugin"
  namespace  = "nvidia"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.0"
  MORE
}
"""


def cluster(version: str = "1.31") -> str:
    return CLUSTER.replace("VERSION", f'version = "{version}"' if version else "")


def plugin(more: str = "") -> str:
    return PLUGIN.replace("MORE", more)


BY_ID = POOL.replace('alias = "al2023@latest"', 'id = "ami-0123456789abcdef0"')


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (cluster() + GROUP, True),
        (cluster() + POOL, True),
        (cluster("1.35") + GROUP, False),
        (cluster("1.35") + POOL, False),
        (cluster("") + POOL, False),
        (cluster() + cluster("1.35").replace('"one"', '"two"') + POOL, False),
        (cluster() + GROUP.replace("scaling", 'version = "1.35"\n  scaling') + POOL, False),
        (GROUP.replace("scaling", 'version = "1.31"\n  scaling') + POOL, True),
        (POOL, False),
        (BY_ID, False),
        (cluster() + BY_ID, True),
    ],
)
def test_nodes_are_of_the_version_of_their_control_plane(text: str, wrong: bool) -> None:
    """As of 1.35 they label themselves, and before a plugin without NFD goes to none of them."""
    assert ("GPU1101" in said(main__tf=text + plugin())) == wrong


def test_a_group_names_a_version_of_its_own() -> None:
    newer = GROUP.replace("scaling", 'version = "1.35"\n  scaling')

    assert "GPU1101" not in said(main__tf=cluster() + newer + plugin())


TEMPLATE = """\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Cluster:
    Type: AWS::EKS::Cluster
    Properties: {Name: one, CLUSTER}
  Gpus:
    Type: AWS::EKS::Nodegroup
    Properties: {InstanceTypes: [g5.xlarge], AmiType: AL2023_x86_64_NVIDIA, GROUP}
"""
CHART = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: nvidia}
spec: {chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}, values: {}}
"""


@pytest.mark.parametrize(
    ("of_cluster", "of_group", "wrong"),
    [
        ('Version: "1.31"', "", True),
        ('Version: "1.35"', "", False),
        ('Version: "1.35"', 'Version: "1.31"', True),
        ("Version: !Ref Version", "", False),
        ("", "", False),
    ],
)
def test_groups_of_cloudformation_too(of_cluster: str, of_group: str, wrong: bool) -> None:
    text = TEMPLATE.replace("CLUSTER", of_cluster).replace("GROUP", of_group)

    assert ("GPU1101" in said(it__yaml=text.replace(", }", "}"), chart__yaml=CHART)) == wrong


OF_CLASS = 'set {\n    name  = "runtimeClassName"\n    value = "CLASS"\n  }'
MADE = """\
resource "kubernetes_manifest" "class" {
  manifest = {
    apiVersion = "node.k8s.io/v1"
    kind       = "RuntimeClass"
    metadata   = { name = "nvidia" }
    handler    = "nvidia"
  }
}
"""
EXPORTER = PLUGIN.replace('"plugin"', '"exporter"').replace("nvidia-device-plugin", "dcgm-exporter")
NAMED = OF_CLASS.replace("CLASS", "nvidia")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (GROUP + plugin(NAMED), True),
        (GROUP + plugin() + EXPORTER.replace("MORE", NAMED), True),
        (GROUP + plugin(OF_CLASS.replace("CLASS", "")), False),
        (GROUP + plugin(OF_CLASS.replace("CLASS", "${var.class}")), False),
        (GROUP + plugin(NAMED) + MADE, False),
        (GROUP + plugin(NAMED) + MADE.replace('name = "nvidia"', "name = var.name"), False),
        (plugin(NAMED), False),
        (GROUP + plugin() + PLUGIN.replace("MORE", NAMED).replace("nvidia-device-", "a-"), False),
    ],
)
def test_the_runtime_class_of_a_chart_is_one_that_is_made(text: str, wrong: bool) -> None:
    """EKS makes none, and what names it is refused: so the plugin runs nowhere."""
    assert ("GPU1255" in said(main__tf=text)) == wrong


@pytest.mark.parametrize(("ami", "wrong"), [("ami-0123456789abcdef0", True), ("CUSTOM", False)])
def test_an_image_is_no_type_of_images(ami: str, wrong: bool) -> None:
    text = GROUP.replace("AL2023_x86_64_NVIDIA", ami)
    places = [str(each.path) for each in found([("main.tf", text)]) if each.code == "GPU1081"]

    assert [each.rpartition(".")[2] for each in places] == ["ami_type"] * wrong


TAGS = 'tags = { "k8s.io/cluster-autoscaler/enabled" = "true" }'


@pytest.mark.parametrize(
    ("least", "most", "wrong"),
    [("1", "2", True), ("1", "1", False), ("var.least", "var.least", True)],
)
def test_a_group_of_one_size_is_scaled_by_nobody(least: str, most: str, wrong: bool) -> None:
    sized = GROUP.replace("min_size = 0", f"min_size = {least}")
    sized = sized.replace("max_size = 2", f"max_size = {most}")

    assert ("GPU1263" in said(main__tf=sized.replace("scaling", f"{TAGS}\n  scaling"))) == wrong


NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {nvidia.com/gpu.present: "true"}}
    spec:
      nodeClassRef: {group: GROUP, kind: KIND, name: gpu}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
  limits: {nvidia.com/gpu: 64}
"""


@pytest.mark.parametrize(
    ("group", "kind", "wrong"),
    [
        ("karpenter.k8s.aws", "EC2NodeClass", True),
        ("eks.amazonaws.com", "NodeClass", True),
        ("flex.aks.azure.com", "NebiusNodeClass", False),
        ("'{{ .group }}'", "EC2NodeClass", True),
    ],
)
def test_a_pool_of_another_cloud_chooses_machines_by_its_class(
    group: str, kind: str, wrong: bool
) -> None:
    text = NODE_POOL.replace("GROUP", group).replace("KIND", kind)

    assert ("GPU1084" in said(pool__yaml=text)) == wrong
