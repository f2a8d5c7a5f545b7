"""Pods that select nodes of GKE by how GPUs are shared, beside pools of Terraform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from linted import found, found_in_parts

if TYPE_CHECKING:
    from pathlib import Path

POOL = """\
resource "google_container_node_pool" "NAME" {
  cluster = "main"
  node_config {
    machine_type = "g2-standard-8"
    guest_accelerator {
      type  = "MODEL"
      count = 1
      SHARING
    }
  }
}
"""
CPU = 'resource "google_container_node_pool" "cpu" {\n  node_config { machine_type = "e2" }\n}\n'
KEYS = {
    "model": "cloud.google.com/gke-accelerator",
    "strategy": "cloud.google.com/gke-gpu-sharing-strategy",
    "clients": "cloud.google.com/gke-max-shared-clients-per-gpu",
}


def pool(
    clients: str = "6",
    strategy: str = '"TIME_SHARING"',
    model: str = "nvidia-l4",
    name: str = "gpu",
) -> str:
    sharing = f"""gpu_sharing_config {{
        gpu_sharing_strategy       = {strategy}
        max_shared_clients_per_gpu = {clients}
      }}"""
    whole = POOL.replace("SHARING", sharing if clients else "")
    return whole.replace("MODEL", model).replace("NAME", name)


def pod(**selected: str) -> str:
    given = ", ".join(f'{KEYS[key]}: "{value}"' for key, value in selected.items())
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: read, namespace: NAMESPACE}}
spec:
  nodeSelector: {{{given}}}
  containers: [{{name: a, image: a:1, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""


def said(terraform: str, pods: str) -> list[Any]:
    every = found([("main.tf", terraform), ("pod.yaml", pods)])
    return [each for each in every if each.code == "GPU1112"]


def test_a_number_that_no_pool_has() -> None:
    (only,) = said(CPU + pool(), pod(model="nvidia-l4", strategy="time-sharing", clients="4"))

    assert (only.severity, only.path) == ("error", f'spec.nodeSelector["{KEYS["clients"]}"]')
    assert only.message == (
        f"The Pod read selects nodes with {KEYS['clients']}=4, and pools with such GPUs have 6: it "
        "gets no node."
    )
    assert only.fix == (
        "Select what google_container_node_pool.gpu has, or change its gpu_sharing_config."
    )


BARE = """\
variable "config" {}
resource "google_container_node_pool" "bare" {
  dynamic "node_config" {
    for_each = var.config
    content { machine_type = node_config.value }
  }
}
"""
DOUBLE = """\
resource "google_container_node_pool" "double" {
  node_config {
    guest_accelerator { type = "nvidia-l4" }
    guest_accelerator { type = "nvidia-l4" }
  }
}
"""
MORE = 'resource "google_container_cluster" "main" {\n  KEY\n}\n'
TWO = pool() + pool("4", name="more")


@pytest.mark.parametrize(
    ("terraform", "pods", "count"),
    [
        (pool(), pod(clients="6"), 0),
        (pool(), pod(clients="4"), 1),
        (pool(), pod(strategy="mps"), 1),
        (pool(), pod(strategy="mps", clients="4"), 2),
        (pool(strategy='"MPS"'), pod(strategy="mps"), 0),
        (pool(), pod(model="nvidia-tesla-t4", clients="4"), 0),
        (pool(), pod(clients="$CLIENTS"), 0),
        (pool(), pod(model="$MODEL", clients="4"), 0),
        (pool(), pod(), 0),
        (pool(""), pod(clients="4"), 1),
        (TWO, pod(clients="4"), 0),
        (TWO, pod(clients="5"), 1),
        (pool() + pool("4", model="nvidia-tesla-t4", name="old"), pod(clients="4"), 0),
        (pool() + pool("var.clients", name="more"), pod(clients="4"), 0),
        (pool() + 'variable "clients" {}\n' + pool("var.clients", name="b"), pod(clients="4"), 0),
        (CPU, pod(clients="4"), 0),
        (pool() + BARE, pod(clients="4"), 0),
        (pool() + DOUBLE, pod(clients="4"), 0),
        (pool() + MORE.replace("KEY", "enable_autopilot = true"), pod(clients="4"), 0),
        (pool() + MORE.replace("KEY", "cluster_autoscaling { a = 1 }"), pod(clients="4"), 0),
        (pool() + MORE.replace("KEY", 'node_pool { name = "a" }'), pod(clients="4"), 0),
        (pool() + MORE.replace("KEY", 'node_config { machine_type = "a" }'), pod(clients="4"), 0),
        (pool() + MORE.replace("KEY", "enable_autopilot = false"), pod(clients="4"), 1),
    ],
)
def test_when_it_is_told(terraform: str, pods: str, count: int) -> None:
    assert len(said(terraform, pods)) == count


MODULE = 'variable "clients" { type = number }\n' + pool("var.clients")
CALL = 'module "pools" {\n  source  = "../../modules/pools"\n  clients = CLIENTS\n}\n'


@pytest.mark.parametrize(("prod", "told"), [("4", []), ("6", ["prod"])])
def test_each_environment_has_the_pools_of_its_root(
    tmp_path: Path, prod: str, told: list[str]
) -> None:
    overlay = "namespace: vision\nresources: [../../base]\n"
    files = {
        "terraform/modules/pools/main.tf": MODULE,
        "terraform/envs/staging/main.tf": CALL.replace("CLIENTS", "4"),
        "terraform/envs/prod/main.tf": CALL.replace("CLIENTS", prod),
        "deploy/base/kustomization.yaml": "resources: [pod.yaml]\n",
        "deploy/base/pod.yaml": pod(clients="4"),
        "deploy/overlays/staging/kustomization.yaml": overlay,
        "deploy/overlays/prod/kustomization.yaml": overlay,
    }
    messages = [each.message for each in found_in_parts(tmp_path, files) if each.code == "GPU1112"]

    assert [each.rpartition(" ")[2].rstrip(".") for each in messages] == told
