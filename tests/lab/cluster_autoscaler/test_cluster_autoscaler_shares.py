"""Pods on shares get the nodes that they need and no more, by the real Cluster Autoscaler.

All pools are in one cluster and are scaled in one go. Pods that ask for nvidia.com/gpu come last:
the autoscaler waits half a minute for more of them, unless one has waited for so long already.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from documented import documented

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
    reason="a minute of two cores: EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1",
)

# What conftest.py offers.
Scaled = Any
State = Any

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
TEN, TEN_RENAMED = (
    "{mode: timeSlicing, replicas: 10}",
    "{mode: timeSlicing, replicas: 10, rename: true}",
)
GPU_PODS_ARE_OLD_AFTER = 31
"""Seconds: unschedulablePodWithGpuTimeBuffer in core/static_autoscaler.go, and one."""

OLD_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "old", "namespace": "default"},
    "spec": {
        "schedulingGates": [{"name": "test/not-yet"}],
        "nodeSelector": {"no-node": "has-this"},
        "containers": [{"name": "app", "image": "app", "resources": {"limits": {GPU: "1"}}}],
    },
}
"""A pod that waits for ever, and counts from when its gate goes."""


@pytest.fixture(scope="module")
def scaled(
    scaled_lab: Any, pool: Any, breaks: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scaled]:
    p4d, halves = "[p4d.24xlarge]", "mode: mig, layout: all-3g.20gb"
    untold = breaks["without_tags"]
    four = "{mode: timeSlicing, replicas: 4, rename: true}"
    half = "nvidia.com/mig-3g.20gb"
    pools = {
        "renamed": pool(TEN_RENAMED, SHARED, 25),
        "mps": pool("{mode: mps, replicas: 4, rename: true}", SHARED, 20),
        "mixed": pool("{mode: mig, layout: all-balanced}", "nvidia.com/mig-1g.5gb", 40, p4d),
        "mig-shared": pool(
            f"{{{halves}, timeSlicing: {{replicas: 4, rename: true}}}}", f"{half}.shared", 65, p4d
        ),
        "untold-renamed": pool(TEN_RENAMED, SHARED, 25, change=untold),
        "untold-mps": pool("{mode: mps, replicas: 4, rename: true}", SHARED, 20, change=untold),
        "untold-mixed": pool(
            "{mode: mig, layout: all-balanced}", "nvidia.com/mig-1g.5gb", 40, p4d, change=untold
        ),
        "untold-mig-shared": pool(
            f"{{{halves}, timeSlicing: {{replicas: 4, rename: true}}}}",
            f"{half}.shared",
            65,
            p4d,
            change=untold,
        ),
        # Nodes have four shares each, and are said to have ten.
        "too-much": pool(four, SHARED, 25, change=breaks["promising"](SHARED, 10)),
        # Nodes have none of what they are said to have ten of.
        "absent": pool(TEN, SHARED, 25, change=breaks["promising"](SHARED, 10), most=5),
        "plain": pool(TEN, GPU, 25),
        "single": pool(f"{{{halves}, strategy: single}}", GPU, 33, p4d),
        "untold": pool(TEN, GPU, 25, change=untold),
        "untold-single": pool(f"{{{halves}, strategy: single}}", GPU, 33, p4d, change=untold),
    }
    begun = time.monotonic()
    folder = tmp_path_factory.mktemp("stack")
    with scaled_lab(pools, folder, None, "{scaleDownAfter: 3h}", first=[OLD_POD]) as made:
        made.deploy(*(name for name, each in pools.items() if each.resource != GPU))
        made.await_rest()
        made.deploy(*(name for name, each in pools.items() if each.resource == GPU))
        time.sleep(max(0, begun + GPU_PODS_ARE_OLD_AFTER - time.monotonic()))
        ungated = {"spec": {"schedulingGates": None}}
        made.session.client.patch("/api/v1/namespaces/default/pods/old", ungated)
        launched = made.cloud.machines
        before = len(launched())
        made.await_that(lambda: len(launched()) > before, "pods on nvidia.com/gpu get nodes")
        yield made


@pytest.fixture(scope="module")
def state(scaled: Scaled) -> State:
    """Nodes launched and pods that run, by pool, in the end."""
    # Nodes beyond those of the first look come as the autoscaler sees that those are full.
    scaled.await_that(lambda: scaled.state()["too-much"][1] == 25, "pods run by rounds", 300)
    scaled.await_that(lambda: scaled.state()["absent"][0] == 5, "nodes come up to the limit", 300)
    return scaled.await_rest()


@pytest.mark.parametrize(
    ("name", "nodes", "pods"),
    [
        ("renamed", 3, 25),
        ("mps", 5, 20),
        ("mixed", 3, 40),
        ("mig-shared", 2, 65),
        ("plain", 3, 25),
        ("single", 3, 33),
    ],
)
def test_pods_get_as_few_nodes_as_the_shares_allow(
    state: State, name: str, nodes: int, pods: int
) -> None:
    assert state[name] == (nodes, pods)


@pytest.mark.parametrize("row", documented("clusterAutoscaler"), ids=lambda row: row["case"])
def test_the_documentation_says_what_was_seen(
    scaled: Scaled, state: State, row: dict[str, Any]
) -> None:
    asked = scaled.pools[row["case"]]
    assert (asked.pods, asked.resource) == (row["pods"], row["resource"])
    assert state[row["case"]] == (row["nodes"], row["pods"])
    assert row["nodes"] == -(-row["pods"] // row["perNode"])
    if row["untold"] is not None:
        assert scaled.pools[row["untold"]].pods == row["pods"]
        assert state[row["untold"]] == (row["nodesUntold"], row["podsUntold"])


def test_shares_that_no_tag_tells_of_get_a_node_for_each_pod(state: State) -> None:
    assert state["untold"] == (25, 25)


def test_devices_by_the_name_of_gpus_are_taken_for_as_many_as_the_type_has_gpus(
    state: State,
) -> None:
    """Eight on a node of p4d, and it has sixteen."""
    assert state["untold-single"] == (5, 33)


@pytest.mark.parametrize(
    "name", ["untold-renamed", "untold-mps", "untold-mixed", "untold-mig-shared"]
)
def test_shares_by_another_name_that_no_tag_tells_of_get_no_node(state: State, name: str) -> None:
    assert state[name] == (0, 0)


def test_a_tag_that_promises_too_much_makes_rounds_and_no_node_too_many(
    scaled: Scaled, state: State
) -> None:
    """Three nodes of ten shares would do, and come; that they have four is seen with them."""
    assert state["too-much"] == (7, 25)
    assert scaled.plans("too-much")[0] == (0, 3)
    assert len(scaled.plans("too-much")) > 1


def test_a_tag_that_promises_what_no_node_has_makes_nodes_up_to_the_limit(
    scaled: Scaled, state: State
) -> None:
    """What a node that is there lacks, it takes from the tag."""
    assert state["absent"] == (5, 0)
    assert scaled.plans("absent")[0] == (0, 3)
