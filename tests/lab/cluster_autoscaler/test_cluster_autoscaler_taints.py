"""Taints that nodes join with and lose again, by the real Cluster Autoscaler.

Of a group without nodes it reads the taints by DescribeNodegroup. One that pods do not tolerate
keeps it from launching anything, unless it is told that the taint goes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
    reason="a minute of two cores: EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1",
)

# What conftest.py offers.
Scaled = Any
State = Any

SHARED, DEVICE, HALF = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
P4D = "[p4d.24xlarge]"
RENAMED = "{mode: timeSlicing, replicas: 10, rename: true}"
MIG_LAYOUT = "eks-gpushare/mig-layout"
OF_NO_FLAG = "example.com/not-yet"
BY_PREFIX = "startup-taint.cluster-autoscaler.kubernetes.io/not-yet"


@pytest.fixture(scope="module")
def scaled(
    scaled_lab: Any, pool: Any, breaks: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scaled]:
    tainted = breaks["tainted"]
    pools = {
        # Of MIG manager, whose nodes join with a taint until their layout is there.
        "managed": pool("{mode: mig, layout: all-balanced, apply: migManager}", DEVICE, 40, P4D),
        "managed-shared": pool(
            "{mode: mig, layout: all-3g.20gb, apply: migManager, "
            "timeSlicing: {replicas: 4, rename: true}}",
            f"{HALF}.shared",
            65,
            P4D,
        ),
        "no-flag": pool(RENAMED, SHARED, 25, change=tainted(OF_NO_FLAG)),
        "by-prefix": pool(RENAMED, SHARED, 25, change=tainted(BY_PREFIX)),
    }
    folder = tmp_path_factory.mktemp("stack")
    with scaled_lab(pools, folder, more="gpuStack: {manager: gpuOperator}") as made:
        made.deploy(*pools)
        made.await_that(lambda: made.running("managed") == 40, "MIG manager's pods run")
        yield made


@pytest.fixture(scope="module")
def state(scaled: Scaled) -> State:
    """Nodes launched and pods that run, by pool, in the end."""
    return scaled.await_rest()


@pytest.mark.parametrize(("name", "nodes", "pods"), [("managed", 3, 40), ("managed-shared", 2, 65)])
def test_nodes_that_wait_for_their_layout_are_as_many_as_the_pods_fill(
    state: State, name: str, nodes: int, pods: int
) -> None:
    assert state[name] == (nodes, pods)


def test_they_joined_with_the_taint_and_lost_it(scaled: Scaled, state: State) -> None:
    assert state["managed"]
    groups = scaled.controllers.cloud.account.node_groups
    (group,) = (each for each in groups if each.name == "managed")
    nodes = [
        each
        for each in scaled.session.watches.nodes.all()
        if each["metadata"]["labels"].get("eks-gpushare/pool") == "managed"
    ]

    assert MIG_LAYOUT in [each["key"] for each in group.taints]
    assert len(nodes) == 3
    assert not [
        taint for node in nodes for taint in node["spec"]["taints"] if taint["key"] == MIG_LAYOUT
    ]


def test_a_taint_that_it_is_not_told_of_keeps_it_from_launching(
    scaled: Scaled, state: State
) -> None:
    """As one that stays would: the pods tolerate neither."""
    assert state["no-flag"] == (0, 0)
    assert f"--startup-taint={OF_NO_FLAG}" not in scaled.autoscaler.arguments()
    assert f"--startup-taint={MIG_LAYOUT}" in scaled.autoscaler.arguments()


def test_a_taint_with_its_own_prefix_needs_no_flag(state: State) -> None:
    """Nobody takes it away here, so that the nodes are there and the pods wait."""
    assert state["by-prefix"] == (3, 0)
