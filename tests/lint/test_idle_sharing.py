"""Sharing that comes to nothing on its nodes, and pods that no node of the files has room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

EXAMPLES = Path(__file__).parents[2] / "examples" / "lint"


def codes(text: str) -> dict[str, str]:
    (report,) = lint_files([GivenFile("all.yaml", text)])
    return {one.code: one.severity for one in report.findings if one.severity != "info"}


def wrong(code: str) -> str:
    return (EXAMPLES / code / "bad.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", True),
        ("strategy: mixed", "strategy: single", False),  # the devices are nvidia.com/gpu
        ("all-1g.5gb", "$(LAYOUT)", False),
        ("all-1g.5gb", "half-and-whole", False),  # of no layout that is known
        ("all-1g.5gb", "all-disabled", False),
        ("    labels: {nvidia.com/mig.config: all-1g.5gb}\n", "", False),
        (
            "---\napiVersion: v1\n",
            (
                "  - {name: whole, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}\n---\n"
                "apiVersion: v1\n"
            ),
            False,  # it is for those
        ),
        (
            "          - {name: nvidia.com/gpu, replicas: 2}\n",
            (
                "          - {name: nvidia.com/gpu, replicas: 2}\n"
                "          - {name: nvidia.com/mig-1g.5gb, replicas: 2}\n"
            ),
            False,
        ),
    ],
)
def test_sharing_of_what_a_cut_gpu_is_not(old: str, new: str, told: bool) -> None:
    assert ("GPU1136" in codes(wrong("GPU1136").replace(old, new, 1))) is told


def test_types_of_one_group_are_told_of_once() -> None:
    text = wrong("GPU1136").replace(
        "instanceType: p4d.24xlarge", "instanceTypes: [p4d.24xlarge, p4de.24xlarge]"
    )
    (report,) = lint_files([GivenFile("all.yaml", text.replace("all-1g.5gb", "all-3g.20gb"))])
    assert [one.code for one in report.findings].count("GPU1136") <= 1


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("nvidia-smi -c EXCLUSIVE_PROCESS", True),
        ("nvidia-smi -i 0 -c 3", True),
        ("sudo nvidia-smi --compute-mode=PROHIBITED", True),
        ("nvidia-smi --compute-mode 1 && date", True),
        ("nvidia-smi -c 0", False),
        ("nvidia-smi -c 30", False),
        ("# nvidia-smi -c 3", False),
        ("nvidia-smi -pm 1; other -c 3", False),
        ("nvidia-smi -ac 3", False),
    ],
)
def test_a_boot_that_lets_one_process_have_a_gpu(command: str, told: bool) -> None:
    text = wrong("GPU1137").replace("nvidia-smi -c EXCLUSIVE_PROCESS", command)
    assert ("GPU1137" in codes(text)) is told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timeSlicing:", "mps:"),
        ("replicas: 4", "replicas: 1"),
        ("sharing:", "flags: {}\n          other:"),
    ],
)
def test_a_boot_that_is_none_of_time_slices(old: str, new: str) -> None:
    assert "GPU1137" not in codes(wrong("GPU1137").replace(old, new))


NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      resources: {requests: {memory: 16Gi, cpu: "1"}, limits: {nvidia.com/gpu: 1}}
"""
SMALL = "  - {name: gpu, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}\n"


def more(group: str) -> tuple[str, str]:
    return SMALL, SMALL + f"  - {{name: b, amiFamily: AmazonLinux2023, {group}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [
        ("", "", "error"),
        ("memory: 16Gi", "memory: 15900Mi", "warning"),  # the kubelet may keep back less
        ("memory: 16Gi", "memory: 8Gi", None),
        ('cpu: "1"', 'cpu: "4"', "error"),
        ("memory: 16Gi", "memory: $(MEMORY)", None),
        ("g5.xlarge", "g5.4xlarge", None),
        (*more("instanceType: g5.4xlarge"), None),
        (*more("instanceType: c5.large"), "error"),  # without GPUs
        (*more("instanceType: $TYPE"), None),
        (*more("instanceType: g5.xlarge"), None),  # and the pod selects neither: maybe a third
    ],
)
def test_a_pod_that_no_node_has_room_for(old: str, new: str, severity: str | None) -> None:
    text = NODES.replace(old, new, 1)
    assert text != NODES or not old
    assert codes(text).get("GPU1202") == severity


def test_containers_need_room_together() -> None:
    text = NODES.replace("16Gi", "9Gi")
    assert "GPU1202" not in codes(text)
    beside = "    - {name: b, image: b, resources: {requests: {memory: 8Gi}}}\n"
    assert codes(text + beside)["GPU1202"] == "error"


def test_a_pod_that_selects_its_nodes_needs_room_there() -> None:
    text = NODES.replace(*more("instanceType: g5.4xlarge")).replace(
        "  containers:",
        "  nodeSelector: {node.kubernetes.io/instance-type: g5.xlarge}\n  containers:",
    )
    assert codes(text).get("GPU1202") == "error"


CUT = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: p4d.24xlarge
    amiFamily: AmazonLinux2023
    labels: {nvidia.com/mig.config: all-1g.5gb}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.3.4}}
  values: {driver: {enabled: false}, toolkit: {enabled: false}, mig: {strategy: single}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: b}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: a, namespace: b}
spec:
  scaleTargetRef: {name: a}
  minReplicaCount: 1
  triggers:
    - type: prometheus
      metadata: {serverAddress: "http://a", query: "avg(DCGM_FI_DEV_GPU_UTIL)", threshold: "50"}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", True),
        ("all-1g.5gb", "all-disabled", False),
        ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", False),
        (
            "---\napiVersion: helm",
            "  - {name: w, instanceType: g5.xlarge}\n---\napiVersion: helm",
            False,
        ),
    ],
)
def test_a_load_that_devices_of_one_strategy_have_no_figure_of(
    old: str, new: str, told: bool
) -> None:
    assert ("GPU1241" in codes(CUT.replace(old, new, 1))) is told
