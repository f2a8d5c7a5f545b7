"""Bottlerocket's settings: what goes into the inventory, and what is wrong in them."""

from __future__ import annotations

import pytest
from foreign_reading import ids, items, placed, problems, read_text_with

from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.manifests.readers.bottlerocket import BottlerocketReader

BOTTLEROCKET = BottlerocketReader()
TEXT = """\
[settings.kubernetes]
cluster-name = "lab"

[settings.kubernetes.node-labels]
"team" = "ml"

[settings.kubernetes.node-taints]
"nvidia.com/gpu" = ["true:NoSchedule"]

[settings.kubelet-device-plugins.nvidia]
device-sharing-strategy = "time-slicing"

[settings.kubelet-device-plugins.nvidia.time-slicing]
replicas = 4
rename-by-default = false
"""
MIG = """\
[settings.kubelet-device-plugins.nvidia]
device-partitioning-strategy = "mig"
[settings.kubelet-device-plugins.nvidia.mig.profile]
"a100.40gb" = "2g.10gb"
"h100.80gb" = "4"
"""


def found(text: str) -> list[str]:
    return ids(read_text_with(BOTTLEROCKET, text, "user-data.toml"))


def test_settings_become_nodes() -> None:
    reads = read_text_with(BOTTLEROCKET, TEXT, "user-data.toml")

    (nodes,) = items(reads)
    assert isinstance(nodes, NodeSet)
    assert nodes.labels == {"team": "ml"}
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert ids(reads) == []


@pytest.mark.parametrize(
    "text",
    [
        MIG,
        TEXT.replace("time-slicing", "mps"),
        MIG.replace('"4"', '"1g.10gb"'),
        MIG + TEXT.replace("[settings.kubelet-device-plugins.nvidia]\n", "").replace(
            'device-sharing-strategy = "time-slicing"\n', ""
        ).partition("[settings.kubelet")[0],
        "settings.kubelet-device-plugins.nvidia.device-list-strategy = 'volume-mounts'\n",
        "[settings.host-containers.admin]\nenabled = true\n",
    ],
)  # fmt: skip
def test_right_settings_pass(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("GPU1082", TEXT.replace("replicas = 4", "replicas = 1")),
        ("GPU1082", TEXT.replace("replicas = 4", 'replicas = "4"')),
        ("GPU1082", TEXT.replace("rename-by-default", "renameByDefault")),
        ("GPU1082", TEXT.replace("rename-by-default", "rename_by_default")),
        ("GPU1082", TEXT.replace("cluster-name", "x").replace('["true:NoSchedule"]', '["true"]')),
        ("GPU1082", TEXT.replace("time-slicing", "mps").replace("= 4", "= 64")),
        ("GPU1083", MIG.replace("2g.10gb", "3g.40gb")),
        ("GPU1082", MIG.replace("a100.40gb", "a100-40gb")),
        ("GPU1082", "[settings.kubelet-device-plugins.nvidia\n"),
        ("GPU1083", TEXT.replace('device-sharing-strategy = "time-slicing"\n', "")),
        ("GPU1083", TEXT.partition("[settings.kubelet-device-plugins.nvidia.time")[0]),
        ("GPU1083", MIG.replace('device-partitioning-strategy = "mig"\n', "")),
        ("GPU1083", TEXT.replace("time-slicing", "mps").replace(
            "device-sharing-strategy",
            'device-partitioning-strategy = "mig"\ndevice-sharing-strategy')),
        ("GPU1077", TEXT.replace('"team"', '"nvidia.com/gpu.product"')),
    ],
)  # fmt: skip
def test_one_thing_is_wrong(code: str, text: str) -> None:
    assert found(text) == [code]


def test_a_problem_stands_at_its_line_and_says_the_right_key() -> None:
    text = TEXT.replace("rename-by-default", "renameByDefault")
    (problem,) = problems(read_text_with(BOTTLEROCKET, text, "user-data.toml"))

    assert placed(problem) == (15, 1)
    assert problem.fix == "Write rename-by-default."
