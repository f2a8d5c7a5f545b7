"""What an edit of the stack file does to node groups: each test is one row of that table."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tests.engine.conftest import Edit, Project, StackFile

    Changes: TypeAlias = Callable[[str, object], dict[str, str]]

STACK = "edits"
NEW_FIRST = "replaced, the new one first"
OLD_FIRST = "replaced, the old one deleted first"
ZONES = ["us-west-2a", "us-west-2b"]
MORE_ZONES = [*ZONES, "us-west-2c"]
SHARED = {"mode": "timeSlicing", "replicas": 4}


def _pool(**more: object) -> dict[str, Any]:
    return {
        "instanceTypes": ["g5.2xlarge", "g5.xlarge"],
        "nodes": {"min": 1, "desired": 1, "max": 2},
        "amiVersion": "1.35.8-20260930",
        "sharing": SHARED,
        **more,
    }


@pytest.fixture(scope="module")
def running(project: Project) -> StackFile:
    """A stack that is up: a pool with pinned zones, without, reserved, and one that is scaled."""
    bought = {"capacityType": "reserved", "reservation": {"id": "cr-0123456789abcdef0"}}
    environment = {
        "cluster": {"name": "demo", "version": "1.35", "deletionProtection": False},
        "network": {"zones": ZONES},
        "pools": {
            "gpu": _pool(zones=ZONES),
            "anywhere": _pool(),
            "scaled": _pool(scaledBy="autoscaler"),
            "reserved": _pool(zones=ZONES[:1], instanceTypes=["g6.xlarge"], **bought),
        },
        "tags": {"team": "ml"},
    }
    config = {"aws:region": "us-west-2", "eks-gpushare:environment": environment}
    project.init(STACK, config)
    project.up(STACK)
    return config


@pytest.fixture
def changes(project: Project, running: StackFile, edited: Edit) -> Changes:
    """`changes(path, value)`: what a preview says that an edit changes."""

    def preview(path: str, value: object) -> dict[str, str]:
        return project.preview(STACK, edited(running, path, value)).changes

    return preview


def test_labels_update_the_node_group_in_place(changes: Changes) -> None:
    found = changes("pools.gpu.labels", {"workload": "inference"})

    assert found == {"NodeGroup gpushare-gpu": "update"}


def test_taints_update_the_node_group_and_what_tolerates_them(changes: Changes) -> None:
    taints = [{"key": "nvidia.com/gpu", "effect": "NoExecute"}]

    assert changes("pools.gpu.taints", taints) == {
        "NodeGroup gpushare-gpu": "update",
        "Addon gpushare-cluster-node-monitoring-agent": "update",
        "Release gpushare-device-plugin-release": "update",
    }


def test_sizes_update_the_node_group_in_place(changes: Changes) -> None:
    found = changes("pools.gpu.nodes", {"min": 0, "desired": 2, "max": 8})

    assert found == {"NodeGroup gpushare-gpu": "update"}


def test_a_desired_size_that_an_autoscaler_decides_changes_nothing(changes: Changes) -> None:
    assert changes("pools.scaled.nodes", {"min": 1, "desired": 2, "max": 2}) == {}


def test_an_autoscaler_is_told_of_a_pool_in_place(changes: Changes) -> None:
    assert changes("pools.gpu.scaledBy", "autoscaler") == {"NodeGroup gpushare-gpu": "update"}


def test_node_repair_updates_the_node_group_in_place(changes: Changes) -> None:
    assert changes("pools.gpu.nodeRepair", False) == {"NodeGroup gpushare-gpu": "update"}  # noqa: FBT003


def test_reordered_instance_types_change_nothing(changes: Changes) -> None:
    assert changes("pools.gpu.instanceTypes", ["g5.xlarge", "g5.2xlarge"]) == {}


def test_other_instance_types_replace_the_node_group_the_new_one_first(changes: Changes) -> None:
    found = changes("pools.gpu.instanceTypes", ["g5.xlarge"])

    assert found == {"NodeGroup gpushare-gpu": NEW_FIRST}


def test_spot_replaces_the_node_group_the_new_one_first(changes: Changes) -> None:
    assert changes("pools.gpu.capacityType", "spot") == {"NodeGroup gpushare-gpu": NEW_FIRST}


def test_a_pool_with_a_reservation_is_deleted_before_it_is_replaced(changes: Changes) -> None:
    found = changes("pools.reserved.instanceTypes", ["g6.2xlarge"])

    assert found == {"NodeGroup gpushare-reserved": OLD_FIRST}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rootVolumeGiB", 300),
        ("metadataHopLimit", 2),
        ("tagInstances", True),
        ("kubelet", {"maxPods": 50}),
        ("localStorage", "raid0"),
        ("userData", [{"contentType": "text/x-shellscript", "content": "#!/bin/sh\n"}]),
        ("waitForDriver", True),
    ],
)
def test_what_is_in_the_launch_template_makes_a_version_of_it_and_rolls_the_nodes(
    changes: Changes, key: str, value: object
) -> None:
    assert changes(f"pools.gpu.{key}", value) == {
        "LaunchTemplate gpushare-gpu-template": "update",
        "NodeGroup gpushare-gpu": "update",
    }


def test_how_many_nodes_are_exchanged_at_a_time_updates_the_node_group_in_place(
    changes: Changes,
) -> None:
    assert changes("pools.gpu.maxUnavailable", "50%") == {"NodeGroup gpushare-gpu": "update"}


def test_a_role_of_ones_own_replaces_the_node_group_and_takes_the_made_one_away(
    changes: Changes,
) -> None:
    found = changes("pools.gpu.nodeRole", "arn:aws:iam::111122223333:role/gpu-nodes")

    assert found == {
        "NodeGroup gpushare-gpu": NEW_FIRST,
        "Role gpushare-gpu-role": "delete",
        **{
            f"RolePolicyAttachment gpushare-gpu-{title}": "delete"
            for title in ("worker", "cni", "images", "ssm")
        },
    }


def test_another_ami_version_rolls_the_nodes(changes: Changes) -> None:
    found = changes("pools.gpu.amiVersion", "1.35.9-20261114")

    assert found == {"NodeGroup gpushare-gpu": "update"}


def test_another_way_of_sharing_changes_nothing_in_aws(changes: Changes) -> None:
    assert changes("pools.gpu.sharing", {"mode": "mps", "replicas": 8}) == {
        "ConfigMap gpushare-device-plugin-config": NEW_FIRST,
        "Release gpushare-device-plugin-release": "update",
    }


@pytest.fixture(scope="module")
def with_a_third_zone(project: Project, running: StackFile, edited: Edit) -> dict[str, str]:
    """What a third zone of the network changes."""
    return project.preview(STACK, edited(running, "network.zones", MORE_ZONES)).changes


def test_a_new_zone_leaves_alone_a_pool_that_pins_its_own(
    with_a_third_zone: dict[str, str],
) -> None:
    assert "NodeGroup gpushare-gpu" not in with_a_third_zone


def test_a_new_zone_replaces_a_pool_that_pins_none(with_a_third_zone: dict[str, str]) -> None:
    assert with_a_third_zone["NodeGroup gpushare-anywhere"] == NEW_FIRST


def test_a_new_zone_replaces_nothing_of_the_network(with_a_third_zone: dict[str, str]) -> None:
    replaced = {name for name, word in with_a_third_zone.items() if word.startswith("replaced")}

    assert {name.split()[0] for name in replaced} == {"NodeGroup"}


def test_a_further_pool_leaves_the_node_groups_of_the_others_alone(changes: Changes) -> None:
    further = changes("pools.further", _pool(zones=ZONES))

    assert {name: word for name, word in further.items() if word != "create"} == {
        "ConfigMap gpushare-device-plugin-config": NEW_FIRST,
        "Release gpushare-device-plugin-release": "update",
    }


def test_a_cluster_with_another_address_replaces_nothing_that_runs_in_it(
    project: Project, running: StackFile
) -> None:
    state = project.state(STACK)
    moved = copy.deepcopy(state)
    for resource in moved["deployment"]["resources"]:
        if resource["type"] == "aws:eks/cluster:Cluster":
            resource["outputs"]["endpoint"] = "https://moved.example"

    project.set_state(STACK, moved)
    changes = project.preview(STACK, running).changes
    project.set_state(STACK, state)

    assert changes == {
        "kubernetes gpushare-cluster-kubernetes": "update",
        # Made by the EKS plugin for its own use, without an identifier; nothing here uses it.
        "kubernetes gpushare-cluster-eks-eks-k8s": NEW_FIRST,
    }


def test_other_tags_update_and_make_no_launch_template_version(
    project: Project, running: StackFile, edited: Edit
) -> None:
    before = _launch_templates(project)
    updated = project.up(STACK, edited(running, "tags", {"team": "research"}))

    assert set(updated.changes.values()) == {"update"}
    assert _launch_templates(project) == before


def _launch_templates(project: Project) -> dict[str, Any]:
    """The launch template, with its version, of each node group."""
    resources = project.state(STACK)["deployment"]["resources"]
    groups = [r for r in resources if r["type"] == "aws:eks/nodeGroup:NodeGroup"]
    return {group["urn"]: group["inputs"]["launchTemplate"] for group in groups}


def test_the_gpu_operator_comes_when_the_device_plugin_has_gone(
    project: Project, running: StackFile, edited: Edit
) -> None:
    """Both charts have a feature discovery in them, and one's clean-up would undo the other's."""
    steps = project.preview(STACK, edited(running, "gpuStack", {"manager": "gpuOperator"})).steps
    releases = [step for step in steps if step[1].startswith("Release ")]

    assert releases == [
        ("delete-replaced", "Release gpushare-device-plugin-release"),
        ("replace", "Release gpushare-gpu-operator-release"),
        ("create-replacement", "Release gpushare-gpu-operator-release"),
    ]
