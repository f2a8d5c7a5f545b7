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
    "partition": "cloud.google.com/gke-gpu-partition-size",
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

    assert (only.severity, only.path) == ("warning", f'spec.nodeSelector["{KEYS["clients"]}"]')
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


@pytest.mark.parametrize(
    ("staging", "prod", "count"), [("4", "4", 0), ("4", "6", 0), ("6", "4", 0), ("6", "6", 1)]
)
def test_each_environment_has_the_pools_of_its_root(
    tmp_path: Path, staging: str, prod: str, count: int
) -> None:
    """What only one of the results of a base lacks is no warning of the base."""
    overlay = "namespace: vision\nresources: [../../base]\n"
    files = {
        "terraform/modules/pools/main.tf": MODULE,
        "terraform/envs/staging/main.tf": CALL.replace("CLIENTS", staging),
        "terraform/envs/prod/main.tf": CALL.replace("CLIENTS", prod),
        "deploy/base/kustomization.yaml": "resources: [pod.yaml]\n",
        "deploy/base/pod.yaml": pod(clients="4"),
        "deploy/overlays/staging/kustomization.yaml": overlay,
        "deploy/overlays/prod/kustomization.yaml": overlay,
    }
    codes = [each.code for each in found_in_parts(tmp_path, files)]

    assert codes.count("GPU1112") == count


OF_MODULE = """\
module "gke" {
  source  = "SOURCE"
  version = "~> 33.0"
}
"""


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("terraform-google-modules/kubernetes-engine/google", 0),
        ("terraform-google-modules/kubernetes-engine/google//modules/private-cluster", 0),
        ("git::https://git.example.com/tools/gke-cluster.git", 0),
        ("terraform-google-modules/kubernetes-engine/google//modules/workload-identity", 1),
        ("terraform-google-modules/bastion-host/google", 1),
    ],
)
def test_modules_make_pools_of_their_own(source: str, count: int) -> None:
    assert len(said(pool() + OF_MODULE.replace("SOURCE", source), pod(clients="4"))) == count


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("gcloud container node-pools create more --cluster main \\\n  --accelerator type=a\n", 0),
        ("gcloud container clusters create main\n", 0),
        ("gcloud container clusters get-credentials main\n", 1),
    ],
)
def test_commands_make_pools_too(script: str, count: int) -> None:
    files = [("main.tf", pool()), ("pod.yaml", pod(clients="4")), ("up.sh", script)]

    assert [each.code for each in found(files)].count("GPU1112") == count


def test_a_compute_class_has_nodes_made() -> None:
    selected = pod(clients="4").replace("nodeSelector: {", 'nodeSelector: {CLASS: "a", ')

    assert said(pool(), selected.replace("CLASS", "cloud.google.com/compute-class")) == []
    assert len(said(pool(), selected.replace("CLASS", "example.com/other"))) == 1


def test_a_pool_whose_sharing_is_not_whole_is_not_known() -> None:
    shares = "max_shared_clients_per_gpu = 6"

    assert said(pool().replace(shares, ""), pod(clients="4")) == []
    assert said(pool(strategy="null"), pod(clients="4")) == []


@pytest.mark.parametrize(
    ("asked", "strategy", "severities"),
    [
        ("3", "time-sharing", ["error"]),
        ("2", "time-sharing", ["error"]),
        ("1", "time-sharing", []),
        ("GPUS_PER_POD", "time-sharing", []),
        ("3", "mps", []),
    ],
)
def test_gke_gives_a_container_one_share_of_turns(
    asked: str, strategy: str, severities: list[str]
) -> None:
    """Of MPS it gives several, where a node has one GPU."""
    pods = pod(strategy=strategy).replace("nvidia.com/gpu: 1", f"nvidia.com/gpu: {asked}")
    told = [each for each in found([("pod.yaml", pods)]) if each.code == "GPU1113"]

    assert [each.severity for each in told] == severities
    message = f"asks for {asked} of nvidia.com/gpu in one container, and selects nodes on which GKE"
    assert all(message in each.message for each in told)


def test_other_resources_are_not_shares() -> None:
    pods = pod(strategy="time-sharing").replace("nvidia.com/gpu: 1", "nvidia.com/mig-1g.5gb: 3")

    assert not [each for each in found([("pod.yaml", pods)]) if each.code == "GPU1113"]


@pytest.mark.parametrize(("wanted", "codes"), [("1g.5gb", ["GPU1112"]), ("3g.20gb", [])])
def test_a_partition_that_no_pool_has(wanted: str, codes: list[str]) -> None:
    terraform = pool(clients="", model="nvidia-tesla-a100").replace(
        "count = 1", 'count = 1\n      gpu_partition_size = "3g.20gb"'
    )
    told = said(terraform, pod(model="nvidia-tesla-a100", partition=wanted))

    assert [each.code for each in told] == codes
    assert all(each.fix.endswith("or change its gpu_partition_size.") for each in told)
