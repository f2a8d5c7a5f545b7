"""Labels of node groups are ones that a kubelet may give its node."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: prod, region: eu-west-1, version: "1.34"}
managedNodeGroups:
- name: gpu
  instanceType: g5.xlarge
  labels: {LABEL: "true"}
"""
TERRAFORM = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "prod"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["g5.xlarge"]
  labels          = { "LABEL" = VALUE }
}
"""
NODEPOOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec: {template: {metadata: {labels: {LABEL: "true"}}}}
"""
REFUSED = ("node-role.kubernetes.io/gpu", "kubernetes.io/team", "k8s.io/a", "a.k8s.io/b")
TAKEN = (
    *("team", "example.com/role", "node.kubernetes.io/role", "kubelet.kubernetes.io/a"),
    *("a.node.kubernetes.io/b", "topology.kubernetes.io/zone", "k8s.amazonaws.com/accelerator"),
    *("notkubernetes.io/a", "kubernetes.io.example.com/a"),
)


def found(name: str, text: str) -> list[tuple[str, str]]:
    (report,) = lint_files([GivenFile(name, text)])
    return [(one.severity, one.message) for one in report.findings if one.code == "GPU1396"]


@pytest.mark.parametrize("label", REFUSED)
def test_labels_of_kubernetes_are_found(label: str) -> None:
    ((severity, message),) = found("cluster.yaml", EKSCTL.replace("LABEL", label))

    assert severity == "error"
    assert message == (
        f"The node group gpu has the label {label}, which a kubelet may not give its node: the "
        "kubelet does not start, and no node joins."
    )
    assert found("main.tf", TERRAFORM.replace("LABEL", label).replace("VALUE", '"a"'))


@pytest.mark.parametrize("label", TAKEN)
def test_others_are_not(label: str) -> None:
    assert not found("cluster.yaml", EKSCTL.replace("LABEL", label))


def test_labels_that_are_not_known_and_those_of_pools_are_not_judged() -> None:
    unknown = TERRAFORM.replace('{ "LABEL" = VALUE }', "var.labels")

    assert not found("main.tf", unknown)
    assert not found("pool.yaml", NODEPOOL.replace("LABEL", REFUSED[0]))
