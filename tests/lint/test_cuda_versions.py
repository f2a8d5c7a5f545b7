"""Images of NVIDIA's of some CUDA, and the driver that the GPU Operator installs."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: gpu-operator}
spec:
  chart: {spec: {chart: CHART, version: v25.3.0}}
  values: VALUES
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: demo}
spec:
  containers:
    - name: main
      image: IMAGE
      env: [ENV]
      resources: {limits: {LIMIT}}
"""
OLD = "{driver: {version: 525.147.05}}"
NEW = "nvcr.io/nvidia/cuda:12.8.1-base-ubuntu22.04"


def found(
    values: str = OLD,
    image: str = NEW,
    env: str = "",
    limit: str = "nvidia.com/gpu: 1",
    chart: str = "gpu-operator",
    more: str = "",
) -> list[str]:
    release = RELEASE.replace("VALUES", values).replace("NAME", "a").replace("CHART", chart)
    pod = POD.replace("IMAGE", image).replace("ENV", env).replace("LIMIT", limit)
    every = found_in({"a.yaml": f"{release}---\n{pod}{more}"})
    return [each.message for each in every if each.code == "GPU1390"]


@pytest.mark.parametrize(
    ("values", "image"),
    [
        (OLD, NEW),
        (OLD, "nvidia/cuda:13.0.0-devel-ubuntu24.04"),
        (OLD, "registry.example.com/nvidia/cuda:12.9-base"),
        ('{driver: {version: "545.23.08"}}', NEW),
        ('{driver: {enabled: true, version: "525"}}', NEW),
        ('{driver: {version: "525.147.05-ubuntu22.04"}}', NEW),
    ],
)
def test_an_image_of_a_later_cuda_is_not_started(values: str, image: str) -> None:
    assert len(found(values, image)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"values": '{driver: {version: "570.86.15"}}'},
        {"values": '{driver: {version: "580.65.06"}}'},
        {"values": '{driver: {version: "535.104.05"}}'},  # which has packages of compatibility
        {"values": '{driver: {version: "470.223.02"}}'},
        {"values": "{driver: {enabled: false, version: 525.147.05}}"},
        {"values": "{driver: {nvidiaDriverCRD: {enabled: true}, version: 525.147.05}}"},
        {"values": "{driver: {version: $DRIVER}}"},
        {"values": "{driver: {enabled: true}}"},
        {"image": "nvidia/cuda:12.4.1-base-ubuntu22.04"},
        {"image": "nvidia/cuda:11.8.0-base-ubuntu22.04"},
        {"image": "own/torch:2.8-cuda12.8"},
        {"env": "{name: NVIDIA_DISABLE_REQUIRE, value: '1'}"},
        {"env": "{name: NVIDIA_REQUIRE_CUDA, value: ''}"},
        {"env": "{name: A, value: $A}"},
        {"limit": "cpu: 1"},
        {"chart": "hami"},
    ],
)
def test_nothing_is_said_of_what_starts_or_may(given: dict[str, str]) -> None:
    assert found(**given) == []


def test_two_drivers_may_be_of_two_clusters() -> None:
    other = RELEASE.replace("NAME", "b").replace("CHART", "gpu-operator")

    assert len(found(more=f"---\n{other.replace('VALUES', OLD)}")) == 1
    assert found(more=f"---\n{other.replace('VALUES', '{driver: {version: 570.1.1}}')}") == []


GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-1, version: "1.34"}
managedNodeGroups: [{name: gpu, instanceType: TYPE, amiFamily: Ubuntu2204, LABELS}]
"""


@pytest.mark.parametrize(
    ("kind", "version", "said"),
    [
        ("p3.2xlarge", "590.48.01", "needs one of 580 or earlier."),
        ("p3.2xlarge", "580.65.06", ""),
        ("g7.2xlarge", "580.65.06", "needs one of 595 or later."),
        ("g7.2xlarge", "595.10.01", ""),
        ("g5.xlarge", "590.48.01", ""),
        ("$TYPE", "590.48.01", ""),
        ("m6i.large", "590.48.01", ""),
    ],
)
def test_a_driver_is_for_the_gpus_of_the_nodes(kind: str, version: str, said: str) -> None:
    release = RELEASE.replace("NAME", "a").replace("CHART", "gpu-operator")
    values = release.replace("VALUES", f'{{driver: {{version: "{version}"}}}}')
    group = GROUP.replace("TYPE", kind)

    def told(labels: str) -> list[str]:
        every = found_in({"a.yaml": f"{values}---\n{group.replace('LABELS', labels)}"})
        return [each.message for each in every if each.code == "GPU1390"]

    assert [said in each for each in told("minSize: 1")] == ([True] if said else [])
    assert told('labels: {nvidia.com/gpu.deploy.operands: "false"}') == []
