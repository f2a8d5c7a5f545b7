"""Node groups to whose names a suffix is added, and what labels nodes of Auto Mode have."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

MODULE = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.6"

  name               = "a"
  kubernetes_version = "1.34"
  eks_managed_node_groups = {
    gpu = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["g6e.2xlarge"]
      MORE
    }
  }
}
"""
RESOURCE = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "a"
  node_role_arn   = var.role
  subnet_ids      = var.subnets
  NAMED
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = ["g6e.2xlarge"]
  scaling_config {
    min_size     = 1
    desired_size = 1
    max_size     = 4
  }
}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: {SELECTOR}
  containers: [{name: a, image: "a:1", resources: {limits: {GPU: 1}}}]
"""


def codes(tf: str, selector: str, gpu: str = "nvidia.com/gpu") -> list[str]:
    pod = POD.replace("SELECTOR", selector).replace("GPU", gpu)
    files = [GivenFile("main.tf", tf), GivenFile("pod.yaml", pod)]
    found = [each for file in lint_files(files) for each in file.findings]
    return [each.code for each in found if each.code == "GPU1112" and each.severity == "error"]


OF_GROUP = "eks.amazonaws.com/nodegroup: gpu"


@pytest.mark.parametrize(
    ("tf", "selector", "wrong"),
    [
        (MODULE.replace("MORE", ""), OF_GROUP, True),
        (MODULE.replace("MORE", 'name = "gpu"'), OF_GROUP, True),
        (MODULE.replace("MORE", 'name = "other"'), OF_GROUP, False),
        (MODULE.replace("MORE", "name = var.name"), OF_GROUP, False),
        (MODULE.replace("MORE", "use_name_prefix = true"), OF_GROUP, True),
        (MODULE.replace("MORE", "use_name_prefix = false"), OF_GROUP, False),
        (MODULE.replace("MORE", "use_name_prefix = var.prefix"), OF_GROUP, False),
        (MODULE.replace("MORE", ""), f"{OF_GROUP}-20261130", False),
        (MODULE.replace("MORE", ""), "team: gpu", False),
        (RESOURCE.replace("NAMED", 'node_group_name_prefix = "gpu-"'), OF_GROUP, True),
        (RESOURCE.replace("NAMED", 'node_group_name = "gpu"'), OF_GROUP, False),
        (RESOURCE.replace("NAMED", "node_group_name_prefix = var.prefix"), OF_GROUP, False),
        (MODULE.replace("MORE", "") + RESOURCE.replace("NAMED", 'node_group_name = "gpu"'),
         OF_GROUP, False),
        (MODULE.replace("MORE", "") + RESOURCE.replace("NAMED", "node_group_name = var.name"),
         OF_GROUP, False),
    ],
)  # fmt: skip
def test_a_group_whose_name_only_begins_so(tf: str, selector: str, *, wrong: bool) -> None:
    assert codes(tf, selector) == (["GPU1112"] if wrong else [])


def test_a_pod_without_a_gpu_is_not_asked() -> None:
    assert codes(MODULE.replace("MORE", ""), OF_GROUP, "cpu") == []


def test_where_it_stands_and_what_to_do() -> None:
    files = [
        GivenFile("main.tf", MODULE.replace("MORE", "")),
        GivenFile("pod.yaml", POD.replace("SELECTOR", OF_GROUP).replace("GPU", "nvidia.com/gpu")),
    ]
    (found,) = [
        each for file in lint_files(files) for each in file.findings if each.code == "GPU1112"
    ]

    assert found.path == 'spec.nodeSelector["eks.amazonaws.com/nodegroup"]'
    assert "begins with it: a suffix follows" in found.message
    assert found.fix.startswith("Write use_name_prefix = false")


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: GROUP, kind: KIND, name: default}
      requirements:
        - {key: eks.amazonaws.com/instance-family, operator: In, values: [g6]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}
"""


@pytest.mark.parametrize(
    ("pool", "selector", "wrong"),
    [
        (("eks.amazonaws.com", "NodeClass"), "karpenter.k8s.aws/instance-gpu-name: l4", True),
        (("eks.amazonaws.com", "NodeClass"), "eks.amazonaws.com/instance-gpu-name: l4", False),
        (("eks.amazonaws.com", "NodeClass"), "karpenter.sh/capacity-type: spot", False),
        (("karpenter.k8s.aws", "EC2NodeClass"), "karpenter.k8s.aws/instance-gpu-name: l4", False),
    ],
)
def test_nodes_of_auto_mode_have_labels_of_their_own(
    pool: tuple[str, str], selector: str, *, wrong: bool
) -> None:
    group, kind = pool
    key = "karpenter" if kind == "NodeClass" else "eks"
    lines = POOL.replace("GROUP", group).replace("KIND", kind).splitlines()
    text = "\n".join(line for line in lines if f"{{key: {key}" not in line)
    pod = POD.replace("SELECTOR", selector).replace("GPU", "nvidia.com/gpu")
    files = [GivenFile("pool.yaml", f"{text}\n"), GivenFile("pod.yaml", pod)]
    found = [each for file in lint_files(files) for each in file.findings]

    assert ("GPU1112" in {each.code for each in found if each.severity != "info"}) is wrong
