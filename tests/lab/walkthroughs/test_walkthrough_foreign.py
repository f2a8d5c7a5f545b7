"""Programs of somebody else: raw resources, another chart's values, outputs that nobody knows."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import versions
from eks_gpushare.program.preview import locate, preview
from eks_gpushare_lab.install.desired_cluster import desired_cluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

# What conftest.py offers.
Walk = Any
Messages = Any
Program = Any

HEAD = """
import pulumi_aws as aws
import pulumi_kubernetes as k8s

role = aws.iam.Role("role", assume_role_policy="{}")
cluster = aws.eks.Cluster("c", role_arn=role.arn, vpc_config={"subnet_ids": ["subnet-1"]})


def group(name, kind, size=1, **more):
    aws.eks.NodeGroup(
        name, cluster_name=cluster.name, node_role_arn=role.arn, subnet_ids=["subnet-1"],
        scaling_config={"desired_size": size, "max_size": 1, "min_size": 1},
        instance_types=[kind], **more)


def plugin(**values):
    k8s.helm.v3.Release(
        "plugin", name="plugin", chart="nvidia-device-plugin", namespace="kube-system",
        version="VERSION", values={"gfd": {"enabled": True}, **values})


TAINTS = [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}]
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
group("plain", "m5.large")
""".replace("VERSION", versions.DEVICE_PLUGIN.version)


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], DesiredCluster]:
    """What a program of raw resources declares, by its text."""

    def declared(text: str) -> DesiredCluster:
        folder = tmp_path / "program"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text("name: foreign\nruntime: python\n", encoding="utf-8")
        (folder / "Pulumi.dev.yaml").write_text("config: {aws:region: us-west-2}\n")
        (folder / "__main__.py").write_text(HEAD + text, encoding="utf-8")
        previewed = preview(*locate("dev", str(folder)), known=True)
        assert previewed.recording is not None
        assert previewed.recording.error is None
        return desired_cluster(previewed.recording, folder)

    return declared


@pytest.mark.slow
def test_a_plugin_that_reaches_no_gpu_node_is_an_error(
    walk: Walk, program: Program, messages_of: Messages
) -> None:
    walk.install(program('group("gpus", "g5.xlarge", taints=TAINTS)\nplugin()\n'))

    report = walk.see()
    (message,) = messages_of(report, "GPU911")
    (found,) = [each for each in report["findings"] if each["code"] == "GPU911"]
    assert message.startswith(
        "The device plugin (kube-system/plugin-nvidia-device-plugin) reaches 0 of 1 nodes, so "
        "nothing advertises its GPUs. On gpus-0: affinity wants "
    )
    assert message.endswith(
        "Such labels come from the worker of node feature discovery "
        "(kube-system/plugin-node-feature-discovery-worker), which does not tolerate the taint "
        "nvidia.com/gpu=true:NoSchedule and is not there either."
    )
    assert "nfd.worker.tolerations" in found["fix"]
    assert found["severity"] == "error"


LABEL = 'labels={"nvidia.com/gpu.present": "true"}'
WORKER = 'nfd={"worker": {"tolerations": TOLERATES}}'
TAINTED = 'group("gpus", "g5.xlarge", taints=TAINTS)\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        'group("gpus", "g5.xlarge")\nplugin()\n',
        f"{TAINTED}plugin({WORKER})\n",
        pytest.param(f"{TAINTED[:-2]}, {LABEL})\nplugin()\n", marks=pytest.mark.at_length),
        TAINTED,  # whose plugin is not this program's
        pytest.param("plugin()\n", marks=pytest.mark.at_length),  # whose GPU nodes are not
    ],
)
def test_a_plugin_that_reaches_them_is_none(walk: Walk, program: Program, text: str) -> None:
    walk.install(program(text))

    assert [each["code"] for each in walk.see()["findings"]] == []


UNKNOWN = """
group("gpus", "g5.xlarge", size=cluster.platform_version)
k8s.core.v1.ConfigMap("Named", metadata={"name": cluster.platform_version}, data={"a": "b"})
k8s.core.v1.Pod(
    "p", metadata={"name": "p"},
    spec={"containers": [{"name": "a", "image": cluster.platform_version}]})
"""


def test_a_value_that_is_not_known_is_named_with_what_stands_for_it(program: Program) -> None:
    declared: DesiredCluster = program(UNKNOWN)
    objects = {each["kind"]: each for each in declared.objects}

    said, group = "is known after an update only; the lab takes", "aws:eks/nodeGroup:NodeGroup gpus"
    image = "the image unknown in its place."
    assert sorted(declared.unknown) == [
        f"metadata.name of kubernetes:core/v1:ConfigMap Named {said} nothing in its place.",
        f"scalingConfig.desiredSize of {group} {said} one node in its place.",
        f"spec.containers.0.image of kubernetes:core/v1:Pod p {said} {image}",
    ]
    assert [(pool.name, pool.nodes) for pool in declared.pools] == [("plain", 1), ("gpus", 1)]
    assert objects["ConfigMap"]["metadata"]["name"] == "named"
    assert objects["Pod"]["spec"]["containers"][0]["image"] == "unknown"
