"""Drivers that a script installs in another way, or for other machines, than nodes of EKS need."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.documents.reading import is_for_machines

NODES = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name    = "c"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids      = ["subnet-1"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = ["g6.xlarge"]
  scaling_config {
    min_size     = 1
    max_size     = 2
    desired_size = 1
  }
}
"""
BASE = "helm install gpu-operator nvidia/gpu-operator -n gpu --version v25.3.0"
OFF = "--set driver.enabled=false --set toolkit.enabled=false"


def is_told(text: str, name: str = "up.sh", **more: str) -> bool:
    """Whether the driver is said to come from both, of BASE and OFF in a script."""
    script = text.replace("BASE", BASE).replace("OFF", OFF)
    return "GPU1180" in said({"main.tf": NODES, name: f"{script}\n", **more})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("BASE", True),
        ("BASE OFF", False),
        ('BASE "$@"', False),
        ("BASE $EXTRA", False),
        ('BASE "${ARGS[@]}"', False),
        ("helm install $FLAGS gpu-operator nvidia/gpu-operator -n gpu", False),
        ("helm install $NAME nvidia/gpu-operator -n gpu", True),
        ("helm install nvidia/gpu-operator --generate-name -n gpu", True),
        ("helm install nvidia/gpu-operator --generate-name -n gpu $EXTRA", False),
        ("BASE -n $NAMESPACE", True),
        ("EXTRA=\nif eks; then EXTRA='OFF'; fi\nBASE $EXTRA", False),
        ("D=true\nBASE --set driver.enabled=$D", True),
        ("if a; then D=true; fi\n: ${D:=false}\nBASE --set driver.enabled=$D", False),
        ('D=true\n: "${D=true}"\nBASE --set driver.enabled=$D', True),
        (": ${D:=true}\nBASE --set driver.enabled=$D", False),
        ("D=true\n: ${D:-false}\nBASE --set driver.enabled=$D", True),
    ],
)
def test_what_else_a_command_is_given_may_switch_it_off(text: str, told: bool) -> None:
    assert is_told(text) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("onprem.sh", False),
        ("install-on-prem.sh", False),
        ("scripts/dgx/up.sh", False),
        ("k3s_up.bash", False),
        ("bare-metal.gpu.sh", False),
        ("kindle.sh", True),
        ("eks.sh", True),
    ],
)
def test_a_script_for_other_machines_is_not_for_nodes_of_eks(name: str, told: bool) -> None:
    assert is_told("BASE", name) is told


@pytest.mark.parametrize(
    ("file", "is_so"),
    [
        ("onprem.sh", True),
        ("a/ONPREM.SH", True),
        ("onprem.yaml", False),
        ("on-premise/up.sh", True),
        ("upkind.sh", False),
        ("kind", False),
    ],
)
def test_scripts_that_are_called_after_machines(file: str, is_so: bool) -> None:
    assert is_for_machines(file) is is_so


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu, namespace: argocd}
spec:
  project: default
  destination: {namespace: gpu, server: "https://kubernetes.default.svc"}
  source: {repoURL: "https://example.com", chart: gpu-operator, targetRevision: v25.3.0}
"""


def test_of_two_that_install_it_one_is_for_these_nodes() -> None:
    alone = {"main.tf": NODES, "application.yaml": APPLICATION}

    assert "GPU1180" in said(alone)
    assert not is_told("BASE OFF", **{"application.yaml": APPLICATION})
    assert is_told("BASE OFF\nhelm install two nvidia/gpu-operator -n two")
