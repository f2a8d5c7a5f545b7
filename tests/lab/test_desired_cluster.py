"""The clusters that the example stacks declare, as recorded."""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.catalog import versions
from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.install.desired_cluster import NodePool, desired_cluster
from eks_gpushare_lab.install.nodes import nodes_of

if TYPE_CHECKING:
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

STACKS = Path(__file__).parents[2] / "stacks"
EXISTING = """
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster: {{existing: {{kubeconfig: {kubeconfig}}}}}
    pools:
      gpu:
        provisioner: existing
        instanceTypes: [g6.12xlarge]
        nodes: {{desired: 2}}
        labels: {{team: ml}}
        sharing: {{mode: timeSlicing, replicas: 4}}
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: c, user: {}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
"""


@cache
def cluster_of(file: str) -> DesiredCluster:
    previewed = preview(*locate(file, str(STACKS.parent)), known=True)
    assert previewed.recording is not None, previewed.findings
    assert previewed.recording.error is None, previewed.recording.error
    return desired_cluster(previewed.recording)


def pool_of(file: str, name: str) -> NodePool:
    return next(pool for pool in cluster_of(file).pools if pool.name == name)


def stack(name: str) -> str:
    return str(STACKS / f"Pulumi.{name}.yaml")


def test_objects_and_releases_come_from_the_registrations() -> None:
    desired = cluster_of(stack("time-slicing"))

    # The first two are those of the node monitoring agent.
    kinds = [each["kind"] for each in desired.objects]
    assert kinds == ["DaemonSet", "DaemonSet", "Namespace", "ConfigMap"]
    assert [(each.chart, each.version) for each in desired.releases] == [
        ("nvidia-device-plugin", versions.DEVICE_PLUGIN.version)
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("mine", ("nvidia-device-plugin", "0.19.3")),  # as its Chart.yaml says
        ("nvidia-device-plugin-0.20.0.tgz", ("nvidia-device-plugin", "0.20.0")),
        ("gpu-operator-v26.7.0-rc.1.tgz", ("gpu-operator", "v26.7.0-rc.1")),
    ],
)
def test_a_chart_on_disk_is_known_by_what_it_says_of_itself(
    path: str, found: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / path).touch()
    chart = "name: nvidia-device-plugin\nversion: 0.19.3\n"
    (tmp_path / "mine" / "Chart.yaml").write_text(chart, encoding="utf-8")
    text = Path(stack("time-slicing")).read_text(encoding="utf-8")
    mine = f"    charts: {{devicePlugin: {{path: {tmp_path / path}}}}}\n    pools:\n"
    file = tmp_path / "Pulumi.mine.yaml"
    file.write_text(text.replace("    pools:\n", mine), encoding="utf-8")

    (release,) = cluster_of(str(file)).releases
    assert (release.chart, release.version) == found


def test_node_groups_become_pools() -> None:
    assert [(pool.name, pool.nodes) for pool in cluster_of(stack("prod")).pools] == [
        ("system", 3),
        ("inference", 2),
        ("training", 2),
    ]


def test_taints_are_spelt_as_kubernetes_does() -> None:
    assert pool_of(stack("prod"), "training").taints == (
        {"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "true"},
        {"key": "workload", "effect": "NoSchedule", "value": "training"},
    )


def test_only_gpu_pools_declare_shares() -> None:
    assert pool_of(stack("prod"), "system").declared == {}
    assert pool_of(stack("prod"), "inference").declared == {
        "g6.12xlarge": {"nvidia.com/gpu.shared": 16}
    }


def test_nodes_take_the_types_and_zones_of_their_pool_in_turn() -> None:
    pool = pool_of(stack("prod"), "inference")
    zones = [n.object["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in nodes_of(pool)]

    assert zones == ["us-west-2a", "us-west-2b"]


def test_a_node_has_no_gpus_before_its_device_plugin() -> None:
    (node,) = nodes_of(pool_of(stack("time-slicing"), "gpu"))
    names = node.object["status"]["allocatable"]

    assert sorted(names) == ["cpu", "ephemeral-storage", "memory", "pods"]


def test_nodes_carry_what_they_were_launched_with() -> None:
    (node,) = nodes_of(pool_of(stack("mig-uniform"), "gpu"))
    metadata = node.object["metadata"]

    assert metadata["annotations"]["lab.eks-gpushare/ami-type"] == "AL2023_x86_64_NVIDIA"
    assert metadata["annotations"]["lab.eks-gpushare/user-data"]


NODE_CONFIGS = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: application/node.eks.aws

{"spec": {"kubelet": {"config": {"maxPods": 30}}}}
--b
Content-Type: application/node.eks.aws

spec: {kubelet: {config: {maxPods: 40}}}
--b--
"""


@pytest.mark.parametrize(
    ("text", "pods"),
    [
        (NODE_CONFIGS, "40"),
        ("[settings.kubernetes]\nmax-pods = 50\n", "50"),
        ("[settings.kernel]\n", "58"),
        ("", "58"),
    ],
)
def test_a_node_takes_the_pods_that_its_kubelet_is_told(text: str, pods: str) -> None:
    given = base64.b64encode(text.encode()).decode()
    pool = replace(
        pool_of(stack("time-slicing"), "gpu"), instance_types=("g5.2xlarge",), user_data=given
    )

    (node,) = nodes_of(pool)

    assert node.object["status"]["allocatable"]["pods"] == pods


def test_the_version_of_a_bottlerocket_node_is_that_of_kubernetes() -> None:
    pool = replace(
        pool_of(stack("bottlerocket"), "slices"), nodes=1, version="1.35", release="1.57.0-1a2b"
    )
    (node,) = nodes_of(pool)
    info = node.object["status"]["nodeInfo"]

    assert info["kubeletVersion"] == "v1.35.0-eks-lab"
    assert info["osImage"] == "Bottlerocket OS 1.57.0 (simulated)"


@pytest.fixture
def existing(tmp_path: Path) -> str:
    kubeconfig, file = tmp_path / "kubeconfig", tmp_path / "Pulumi.existing.yaml"
    kubeconfig.write_text(KUBECONFIG, encoding="utf-8")
    file.write_text(EXISTING.format(kubeconfig=kubeconfig), encoding="utf-8")
    return str(file)


def test_nodes_that_are_there_have_what_the_stack_asks_of_them(existing: str) -> None:
    (pool,) = cluster_of(existing).pools

    assert pool.labels == {
        "eks-gpushare/pool": "gpu",
        "nvidia.com/device-plugin.config": "gpu",
        "nvidia.com/gpu.present": "true",
        "team": "ml",
    }
    assert pool.taints == ({"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "true"},)
    assert [node.name for node in nodes_of(pool)] == ["gpu-0", "gpu-1"]
