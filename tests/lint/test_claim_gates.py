"""Feature gates of NVIDIA's driver for claims, with each other, its version and EKS."""

from __future__ import annotations

import json

import pytest
from linted import found

CODE = "GPU1401"
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "%s"}
managedNodeGroups:
- {name: a100, amiFamily: AmazonLinux2023, instanceType: p4d.24xlarge, volumeSize: 200}
"""
DRIVER = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: dra, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: dra}
  source:
    repoURL: registry.k8s.io/dra-driver-nvidia/charts
    chart: dra-driver-nvidia-gpu
    targetRevision: "%s"
    helm:
      valuesObject:
        featureGates: %s
"""
OLD = DRIVER.replace("chart: dra-driver-nvidia-gpu", "chart: nvidia-dra-driver-gpu")


def told(gates: str, version: str = "0.5.0", cluster: str = "", chart: str = DRIVER) -> list[str]:
    """What is said of gates, each with the gate that it stands at."""
    nodes = f"{NODES % cluster}---\n" if cluster else ""
    every = [
        each for each in found([("a.yaml", nodes + chart % (version, gates))]) if each.code == CODE
    ]
    return [f"{each.path.rpartition('.')[2]}: {each.message} {each.fix}" for each in every]


@pytest.mark.parametrize(
    ("gates", "version", "said"),
    [
        ("{DynamicMIG: true}", "0.4.1", ""),
        ("{DynamicMIG: true}", "25.12.0", ""),
        ("{DynamicMIG: true}", "25.8.1", "is 25.8.1, which has no gate DynamicMIG yet"),
        ("{DynamicMIG: true, MPSSupport: true}", "25.8.1", "has no gate DynamicMIG yet"),
        ("{DeviceMetadata: true}", "25.12.0", "has no gate DeviceMetadata yet"),
        ("{DeviceMetadata: false}", "0.4.0-rc.1", ""),
        ("{ConsumableShares: true}", "0.5.0-dev", ""),
        # Of a chart that does not read them they are none.
        ("{TimeSlicingSettings: true, DynamicMig: true}", "25.3.2", ""),
        ("{DynamicMIG: false}", "25.8.1", "Install 25.12.0 or later, or take it away."),
        ("{DeviceMetadata: false}", "25.12.0", "Install 0.4.0 or later"),
        ("{ConsumableShares: true}", "0.4.1", "Install 0.5.0 or later"),
        ("{ConsumableShares: true}", "25.12.0", "Install 0.5.0 or later"),
        ("{ConsumableShares: true}", "0.5.0", ""),
        ("{ConsumableShares: true}", "0.*", ""),
        ("{DynamicMig: true}", "0.4.1", "has no gate DynamicMig: it ends as it starts. Did you"),
        ("{dynamicMIG: true}", "0.4.1", "Did you mean DynamicMIG?"),
        # Of later ones nothing is known.
        ("{VGPUSupport: true, AllAlpha: true}", "0.4.1", ""),
        ("true", "0.4.1", ""),
    ],
)
def test_a_gate_is_one_of_that_version(gates: str, version: str, said: str) -> None:
    said_of = told(gates, version)

    assert len(said_of) == bool(said)
    assert all(said in each for each in said_of)


@pytest.mark.parametrize(
    ("gates", "at"),
    [
        ("{DynamicMIG: true, MPSSupport: true}", ["MPSSupport"]),
        ("{DynamicMIG: true, PassthroughSupport: true}", ["PassthroughSupport"]),
        ('{NVMLDeviceHealthCheck: "1", DynamicMIG: "true"}', ["NVMLDeviceHealthCheck"]),
        ("{PassthroughSupport: true, NVMLDeviceHealthCheck: true}", ["NVMLDeviceHealthCheck"]),
        ("{DynamicMIG: true, MPSSupport: false}", []),
        ('{DynamicMIG: "{{ .dynamic }}", MPSSupport: true}', []),
        ("{TimeSlicingSettings: true, MPSSupport: true}", []),
        ("{DeviceMetadata: true}", ["DeviceMetadata"]),
        ("{DeviceMetadata: true, PassthroughSupport: false}", ["DeviceMetadata"]),
        ("{DeviceMetadata: true, PassthroughSupport: true}", []),
        ('{DeviceMetadata: true, PassthroughSupport: "{{ .through }}"}', []),
        ("{IMEXDaemonsWithDNSNames: false}", ["IMEXDaemonsWithDNSNames"]),
        ("{IMEXDaemonsWithDNSNames: false, ComputeDomainCliques: true}", ["ComputeDomainCliques"]),
        ("{IMEXDaemonsWithDNSNames: false, ComputeDomainCliques: false}", []),
        ("{ComputeDomainCliques: true}", []),
    ],
)
def test_gates_that_exclude_or_need_each_other(gates: str, at: list[str]) -> None:
    said_of = told(gates)

    assert [each.partition(":")[0] for each in said_of] == at
    assert all("it ends as it starts" in each for each in said_of)


def test_a_gate_that_is_on_by_itself_is_so_from_its_first_release() -> None:
    gates = "{IMEXDaemonsWithDNSNames: false}"

    assert len(told(gates, "25.12.0", chart=OLD)) == 1
    assert told(gates, "25.8.1", chart=OLD) == []
    assert told(gates, "{{ .version }}") == []
    assert told(gates, "25.8.*", chart=OLD) == told(gates, "*") == []
    assert len(told(gates, "")) == 1
    for switch in ("AllAlpha", "AllBeta"):
        assert told(f"{{{switch}: false, IMEXDaemonsWithDNSNames: false}}") == []


def test_a_pair_excludes_each_other_since_some_release() -> None:
    gates = "{PassthroughSupport: true, NVMLDeviceHealthCheck: true}"

    assert told(gates, "25.12.0", chart=OLD) == []
    assert len(told(gates, "0.4.0")) == 1
    assert (
        len(
            told(
                gates.replace("Passthrough", "MPS").replace("NVMLDeviceHealthCheck", "DynamicMIG"),
                "25.12.0",
            )
        )
        == 1
    )


def test_a_control_plane_may_be_newer_than_its_nodes() -> None:
    cluster = """\
resource "aws_eks_cluster" "ml" {
  name    = "ml"
  version = "1.VERSION"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name   = aws_eks_cluster.ml.name
  version        = "1.35"
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["p5.48xlarge"]
}
resource "helm_release" "dra" {
  name       = "dra"
  chart      = "dra-driver-nvidia-gpu"
  repository = "oci://registry.k8s.io/dra-driver-nvidia/charts"
  version    = "0.4.1"
  values     = [yamlencode({ featureGates = { DynamicMIG = true } })]
}
"""
    for version, is_told in (("36", False), ("35", True)):
        codes = [each.code for each in found([("main.tf", cluster.replace("VERSION", version))])]
        assert (CODE in codes) is is_told


@pytest.mark.parametrize(
    ("gates", "cluster", "said"),
    [
        ("{DynamicMIG: true}", "1.35", "needs DRAPartitionableDevices of Kubernetes"),
        ("{DynamicMIG: true}", "1.34", "Bring the cluster from 1.34 to 1.36"),
        ("{ConsumableShares: true}", "1.35", "needs DRAConsumableCapacity of Kubernetes"),
        ("{DynamicMIG: true, ConsumableShares: true}", "1.36", ""),
        ("{DynamicMIG: true}", "1.37", ""),
        ("{DynamicMIG: false}", "1.35", ""),
        ("{TimeSlicingSettings: true}", "1.35", ""),
        ("{DynamicMIG: true}", "<version>", ""),
        ("{DynamicMIG: true}", "", ""),
    ],
)
def test_what_eks_has_off_is_not_to_be_had(gates: str, cluster: str, said: str) -> None:
    said_of = told(gates, cluster=cluster)

    assert len(said_of) == bool(said)
    assert all(said in each for each in said_of)


def test_whose_nodes_are_not_of_eks_may_have_it_on() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    node["status"] = {"nodeInfo": {"kubeletVersion": "v1.35.4"}}
    text = f"{json.dumps(node)}\n---\n{DRIVER % ('0.5.0', '{DynamicMIG: true}')}"

    assert [each for each in found([("a.yaml", text)]) if each.code == CODE] == []
