"""What takes the real Cluster Autoscaler minutes, though most of its delays are compressed.

It asks AWS once a minute what has become of its groups, and no flag changes that. Run with
EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.cloud.node_groups import scaling_group_of
from eks_gpushare_lab.cloud.settings import CloudSettings, Shortage

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
        reason="minutes of Cluster Autoscaler: EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1",
    ),
]

# What conftest.py offers.
ScaledLab = Any
PoolType = Any
Breaks = Any

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
TEN, RENAMED = "mode: timeSlicing, replicas: 10", "mode: timeSlicing, replicas: 10, rename: true"


RESOURCES = "k8s.io/cluster-autoscaler/node-template/resources/"


def test_nodes_come_from_zero_and_go_back_to_zero(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path
) -> None:
    pools = {"gpu": pool(f"{{{RENAMED}}}", SHARED, 25)}
    with scaled_lab(pools, tmp_path) as lab:
        lab.deploy("gpu")
        lab.await_that(lambda: lab.state()["gpu"] == (3, 25), "25 pods run on 3 nodes")
        lab.scale("gpu", 0)
        lab.await_that(lambda: not lab.machines("gpu"), "nodes that nobody needs go")
        nodes = [each["metadata"]["labels"] for each in lab.session.watches.nodes.all()]

        assert lab.state()["gpu"] == (3, 0)
        assert [each for each in nodes if each.get("eks-gpushare/pool") == "gpu"] == []


def test_every_pool_of_a_stack_gets_nodes_by_what_is_registered(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path
) -> None:
    pools = {name: pool(f"{{{RENAMED}}}", SHARED, 5) for name in ("one", "two")}
    with scaled_lab(pools, tmp_path) as lab:
        lab.deploy(*pools)

        assert lab.await_rest() == {"one": (1, 5), "two": (1, 5)}


def test_a_named_group_that_is_gone_stops_all_scaling(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path
) -> None:
    """So names have to follow the groups, which Pulumi sees to."""
    pools = {
        "one": pool(f"{{{RENAMED}}}", SHARED, 5),
        "two": pool(
            f"{{{RENAMED}}}", SHARED, 5, change=lambda group: replace(group, scaling_group="")
        ),
    }
    with scaled_lab(pools, tmp_path) as lab:
        lab.deploy("one")
        lab.await_that(lambda: "unable to get first AvailabilityZone" in lab.said(), "it says so")

        assert lab.state() == {"one": (0, 0), "two": (0, 0)}


def test_where_there_is_no_capacity_another_pool_takes_the_pods(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path
) -> None:
    lacking = CloudSettings(start=0, insufficient=(Shortage("g5.xlarge"),))
    anywhere: dict[str, Any] = {"nodeSelector": {}}
    pools = {
        "none": pool(f"{{{RENAMED}}}", SHARED, 25, spec=anywhere),
        # Larger, so that the one without capacity is the first choice.
        "other": pool(f"{{{RENAMED}}}", SHARED, 0, "[g5.4xlarge]"),
    }
    with scaled_lab(pools, tmp_path, lacking) as lab:
        lab.deploy("none")
        lab.await_that(lambda: lab.running("none") == 25, "all pods run")

        assert lab.launched("none") == []
        assert len(lab.launched("other")) >= 3
        assert "cannot provision any more nodes" in lab.said()


LATE = CloudSettings(start=0, plugin=45)
"""A device plugin that starts when its node has been ready for a while."""


def test_a_plugin_that_is_late_is_waited_for(
    scaled_lab: ScaledLab, pool: PoolType, breaks: Breaks, tmp_path: Path
) -> None:
    """With the label of GPUs. Without it, a node that is ready has no room, and others come.

    A pool of renamed shares has none: with it, its nodes would count as starting for ever.
    """
    pools = {
        "gpu": pool(f"{{{TEN}}}", GPU, 15),
        "renamed": pool(f"{{{RENAMED}}}", SHARED, 15),
        "unlabelled": pool(f"{{{TEN}}}", GPU, 15, change=breaks["unlabelled"]),
        "labelled": pool(f"{{{RENAMED}}}", SHARED, 15, change=breaks["labelled"]),
    }
    with scaled_lab(pools, tmp_path, LATE, "{scaleDownAfter: 3h}") as lab:
        lab.deploy(*pools)
        lab.await_that(lambda: all(lab.running(name) == 15 for name in pools), "pods run", 240)

        state = lab.state()
        assert (state["gpu"], state["labelled"]) == ((2, 15), (2, 15))
        assert (state["renamed"], state["unlabelled"]) == ((4, 15), (4, 15))


def test_without_the_label_nodes_are_removed_before_a_plugin_that_is_later(
    scaled_lab: ScaledLab, pool: PoolType, breaks: Breaks, tmp_path: Path
) -> None:
    """And launched again, for ever; with the label they count as starting, and are left alone."""
    pools = {
        "gpu": pool(f"{{{TEN}}}", GPU, 5),
        "unlabelled": pool(f"{{{TEN}}}", GPU, 5, change=breaks["unlabelled"]),
    }
    late = CloudSettings(start=0, plugin=100)
    with scaled_lab(pools, tmp_path, late, "{scaleDownAfter: 5m}") as lab:
        lab.deploy(*pools)
        lab.await_that(lambda: lab.running("gpu") == 5, "pods run", 240)
        removed = [each for each in lab.launched("unlabelled") if each["ended"] is not None]

        assert lab.state()["gpu"] == (1, 5)
        assert removed
        assert all(each["ended"] - each["joined"] < late.plugin for each in removed)


def test_tags_of_the_node_group_go_over_those_of_its_auto_scaling_group(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path
) -> None:
    """EKS hands on no tags of a node group, and somebody may have tagged what it made."""
    boto3 = pytest.importorskip("boto3")
    pools = {name: pool(f"{{{RENAMED}}}", SHARED, 25) for name in ("tagged", "plain")}
    with scaled_lab(pools, tmp_path) as lab:
        (group,) = (
            scaling_group_of(each)
            for each in lab.cloud.account.node_groups
            if each.name == "tagged"
        )
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        aws = boto3.client(
            "autoscaling", region_name="us-west-2", endpoint_url=lab.cloud.url, **keys
        )
        tag = {
            "ResourceId": group,
            "ResourceType": "auto-scaling-group",
            "Key": f"{RESOURCES}{SHARED}",
            "Value": "4",
            "PropagateAtLaunch": False,
        }
        asked = lab.asked_for_groups()
        aws.create_or_update_tags(Tags=[tag])
        lab.await_that(lambda: lab.asked_for_groups() > asked, "it asks AWS again", 90)
        (found,) = aws.describe_auto_scaling_groups(AutoScalingGroupNames=[group])[
            "AutoScalingGroups"
        ]
        assert {each["Key"]: each["Value"] for each in found["Tags"]}[tag["Key"]] == "4"
        lab.deploy(*pools)

        assert lab.await_rest() == {"tagged": (3, 25), "plain": (3, 25)}
