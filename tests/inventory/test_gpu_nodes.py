"""Which nodes have GPUs, and what is known of their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, USUAL, nodes

from eks_gpushare.inventory.bottlerocket import may_run_bottlerocket, own_config, own_plugin
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes, without_operands
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import NodeSet

BY_HAND: dict[str, Any] = {"provisioner": "byHand", "instance_types": ()}
NO_TYPE: dict[str, Any] = {"instance_types": ()}


def kinds(*given: NodeSet) -> tuple[NodeKind, ...]:
    return gpu_nodes(Inventory(given, complete=True), "")


@pytest.mark.parametrize(
    ("given", "types"),
    [
        (nodes("g5.xlarge"), ["g5.xlarge"]),
        (nodes("g5.xlarge", "m5.large", "p4d.24xlarge"), ["g5.xlarge", "p4d.24xlarge"]),
        (nodes("m5.large"), []),
        (nodes("g4ad.xlarge"), []),
        (nodes("g99.xlarge"), [None]),
        (nodes("m99.xlarge"), []),
        (nodes("g99.xlarge", "p98.xlarge", "g5.xlarge"), ["g5.xlarge", None]),
        (nodes(instance_types=UNKNOWN), []),
        (nodes(**NO_TYPE), []),
        (nodes(**NO_TYPE, labels={"nvidia.com/gpu.product": "A10G"}), [None]),
        (nodes(**NO_TYPE, labels={"nvidia.com/gpu.present": "true"}), [None]),
        (nodes(**NO_TYPE, labels={"nvidia.com/gpu.present": "false"}), []),
        (nodes(**NO_TYPE, labels={"nvidia.com/gpu.present": False}, taints=[USUAL]), []),
        (nodes(**NO_TYPE, labels={"team": "nvidia.com/"}), []),
        (nodes(**NO_TYPE, labels=UNKNOWN), []),
        (nodes(**NO_TYPE, taints=[USUAL]), [None]),
        (nodes(**NO_TYPE, taints=[("team", "nvidia.com/gpu", "NoSchedule")]), []),
        (nodes(**NO_TYPE, taints=UNKNOWN, promised=UNKNOWN), []),
        (nodes(**NO_TYPE, promised={GPU: 1}), [None]),
        (nodes(**NO_TYPE, promised={"cpu": 1}), []),
        (nodes(**NO_TYPE, ami="AL2023_x86_64_NVIDIA"), [None]),
        (nodes(**NO_TYPE, ami="AL2023_x86_64_STANDARD"), []),
        (nodes(**NO_TYPE, ami=UNKNOWN), []),
        (nodes(instance_types=UNKNOWN, taints=[USUAL]), [None]),
    ],
)
def test_nodes_with_gpus_are_told_by_types_or_signs(given: NodeSet, types: list[Any]) -> None:
    assert [each.type and each.type.name for each in kinds(given)] == types


OWN = {"own": 1, "later": UNKNOWN, "nvidia.com/gpu.count": "4"}


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        (nodes(labels=OWN), "own", "1"),
        (nodes(labels=OWN), "later", UNKNOWN),
        (nodes(labels=OWN), "none", None),
        (nodes(labels=UNKNOWN), "none", UNKNOWN),
        (nodes(), "kubernetes.io/os", "linux"),
        (nodes(), "kubernetes.io/arch", "amd64"),
        (nodes(), "node.kubernetes.io/instance-type", "g5.xlarge"),
        (nodes("g99.xlarge"), "node.kubernetes.io/instance-type", UNKNOWN),
        (nodes(), "topology.kubernetes.io/zone", UNKNOWN),
        (nodes(), "nvidia.com/gpu.product", UNKNOWN),
        (nodes(provisioner="karpenter"), "karpenter.sh/nodepool", "gpu"),
        (nodes(provisioner="karpenter", name=UNKNOWN), "karpenter.sh/nodepool", UNKNOWN),
        (nodes(provisioner="managed"), "karpenter.sh/nodepool", None),
        # User data labels nodes of one's own, and nothing else does.
        (nodes(provisioner="selfManaged"), "none", None),
        (nodes(provisioner="selfManaged", user_data=UNKNOWN), "none", UNKNOWN),
        (nodes(provisioner="selfManaged", user_data=UNKNOWN, labels=OWN), "own", "1"),
        (nodes(provisioner="managed", user_data=UNKNOWN), "none", UNKNOWN),
        (nodes(provisioner="managed", user_data=UNKNOWN, ami="AL2023_x86_64"), "none", UNKNOWN),
        (nodes(provisioner="managed", user_data=UNKNOWN, ami="AL2_x86_64_GPU"), "none", None),
        (nodes(provisioner="managed", ami="AL2023_x86_64"), "none", None),
        # A node as it is has all that it has; one that is only labelled has more.
        (nodes(provisioner="byHand"), "topology.kubernetes.io/zone", None),
        (nodes(**BY_HAND, labels={GPU: "x"}), "none", UNKNOWN),
        (nodes(**BY_HAND, labels={GPU: "x"}), GPU, "x"),
    ],
)
def test_a_label_has_a_value(given: NodeSet, key: str, value: Any) -> None:
    (found,) = kinds(given)

    assert found.label(key) == value


def test_labels_that_somebody_gives_by_hand_may_be_of_any_node() -> None:
    pool, *_ = kinds(
        nodes(),
        nodes(**BY_HAND, labels={"a": 1, "b": "x"}),
        nodes(**BY_HAND, labels={"a": True}),
        nodes(**BY_HAND, labels=UNKNOWN),
        nodes(provisioner="byHand", labels={"c": "x"}),
        nodes("m5.large", labels={"d": "x"}),
    )

    assert pool.by_hand == {"a": {"1", "true"}, "b": {"x"}}
    assert [pool.label(key) for key in "abcd"] == [UNKNOWN, UNKNOWN, None, None]


@pytest.mark.parametrize(
    ("given", "key", "once_found", "discovered"),
    [
        (nodes(), "nvidia.com/gpu.present", "true", True),
        (nodes(), "feature.node.kubernetes.io/pci-10de.present", "true", True),
        (nodes(), "nvidia.com/gpu.deploy.driver", "true", True),
        (nodes(), "nvidia.com/gpu.product", UNKNOWN, True),
        (nodes(labels={"nvidia.com/gpu.present": "false"}), GPU + ".present", "false", False),
        (nodes(labels={GPU + ".present": UNKNOWN}), GPU + ".present", UNKNOWN, False),
        (nodes(labels=UNKNOWN), "nvidia.com/gpu.present", UNKNOWN, False),
        (nodes(), "topology.kubernetes.io/zone", UNKNOWN, False),
        (nodes(), "team", None, False),
    ],
)
def test_feature_discovery_writes_labels(
    given: NodeSet, key: str, once_found: Any, discovered: bool
) -> None:
    (found,) = kinds(given)

    assert found.label_once_found(key) == once_found
    assert found.is_discovered(key) is discovered


@pytest.mark.parametrize(
    ("given", "partial", "serves"),
    [
        (nodes(), False, False),
        (nodes(provisioner="byHand"), False, False),
        (nodes(**BY_HAND, taints=[USUAL]), True, False),
        (nodes(**NO_TYPE, taints=[USUAL]), False, False),
        (nodes(provisioner="autoMode"), False, True),
        (nodes(ami="BOTTLEROCKET_x86_64_NVIDIA"), False, True),
    ],
)
def test_what_is_said_of_nodes(given: NodeSet, partial: bool, serves: bool) -> None:
    (found,) = kinds(given)

    assert (found.is_partial, found.serves_itself) == (partial, serves)


@pytest.mark.parametrize(
    ("labels", "without"),
    [
        ({}, False),
        ({"nvidia.com/gpu.deploy.operands": "false"}, True),
        ({"nvidia.com/gpu.deploy.operands": False}, True),
        ({"nvidia.com/gpu.deploy.operands": "true"}, False),
        ({"nvidia.com/gpu.deploy.operands": UNKNOWN}, None),
        (UNKNOWN, None),
    ],
)
def test_a_label_keeps_operands_away(labels: Any, without: bool | None) -> None:
    assert without_operands(nodes(labels=labels)) is without


PLUGIN = "[settings.kubelet-device-plugins.nvidia]\n"
ROCKET = "BOTTLEROCKET_x86_64_NVIDIA"


@pytest.mark.parametrize(
    ("ami", "data", "may", "own"),
    [
        (ROCKET, "", False, True),
        (ROCKET, UNKNOWN, False, True),
        (ROCKET, f"{PLUGIN}enabled = true", False, True),
        (ROCKET, f"{PLUGIN}enabled = false", False, False),
        ("AL2023_x86_64_NVIDIA", "", False, False),
        (UNKNOWN, "", True, False),
        (UNKNOWN, " \n[settings.kubernetes]", True, False),
        (UNKNOWN, UNKNOWN, True, False),
        (UNKNOWN, "#!/bin/sh", False, False),
    ],
)
def test_bottlerocket_is_told_by_its_ami(ami: Any, data: Any, may: bool, own: bool) -> None:
    given = nodes(ami=ami, user_data=data)

    assert (may_run_bottlerocket(given), own_plugin(given)) == (may, own)


SLICED = f'{PLUGIN}device-sharing-strategy = "time-slicing"\n[{PLUGIN[1:-2]}.time-slicing]\n'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", ("none", "none", {}, False, False)),
        (f'{PLUGIN}device-partitioning-strategy = "mig"', ("single", "none", {}, False, False)),
        (f'{PLUGIN}device-sharing-strategy = "none"', ("none", "none", {}, False, False)),
        (
            f'{PLUGIN}device-sharing-strategy = "time-slicing"',
            ("none", "timeSlicing", {GPU: 2}, True, True),
        ),
        (f"{SLICED}replicas = 8", ("none", "timeSlicing", {GPU: 8}, True, True)),
        (
            f"{SLICED}rename-by-default = false\nfail-requests-greater-than-one = false",
            ("none", "timeSlicing", {GPU: 2}, False, False),
        ),
        (
            (SLICED + "replicas = 3").replace("time-slicing", "mps"),
            ("none", "mps", {GPU: 3}, True, True),
        ),
    ],
)
def test_bottlerockets_plugin_goes_by_its_settings(data: str, expected: Any) -> None:
    found = own_config(nodes(ami=ROCKET, user_data=data))

    assert found is not None
    replicas = dict(found.replicas)
    read = (found.mig_strategy, found.sharing, replicas, found.renamed, found.refuses_several)
    assert read == expected


@pytest.mark.parametrize("data", [UNKNOWN, "[settings"])
def test_settings_that_cannot_be_read_say_nothing(data: Any) -> None:
    assert own_config(nodes(ami=ROCKET, user_data=data)) is None
