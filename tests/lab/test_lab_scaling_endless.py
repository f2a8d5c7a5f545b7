"""What never comes to an end, so that a run stops to wait: and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.lab.scaling_by_hand import GPU, SHARED, Lab, group, karpenter, karpenter_lab

from eks_gpushare_lab.observing.scaling import LOOP, RUNAWAY


def test_a_node_for_each_pod_is_a_runaway() -> None:
    lab = karpenter_lab()
    lab.told.given["overlays"] = []
    for number in range(25):
        lab.node(f"n{number}", {SHARED: 10})
        lab.pods(1, f"n{number}")

    lab.watch_for(10)
    assert lab.scaling.endless == {"gpu": RUNAWAY}
    assert lab.message("GPU962") == (
        "runaway: 25 nodes for 25 pods, a new one for each, where 3 nodes would do. Karpenter is "
        "told of no shares; a node advertises 10 nvidia.com/gpu.shared. The lab has stopped to "
        "wait."
    )


def test_one_node_after_the_other_is_seen_long_before_each_pod_has_one() -> None:
    lab = karpenter_lab()
    lab.pods(12)
    for number in range(12):
        lab.node(f"n{number}", {SHARED: 1})
        lab.pod(f"waits-{number}", f"n{number}")
        lab.watch_for(10)
        if lab.scaling.endless:
            break

    assert number == 4
    assert lab.scaling.endless == {"gpu": RUNAWAY}


def test_a_node_for_each_pod_is_one_however_the_pods_lie() -> None:
    lab = karpenter_lab()
    for number in range(25):
        lab.node(f"n{number}", {SHARED: 10})
    lab.pods(9, "n0")
    lab.pods(9, "n1")
    lab.pods(7, "n2")

    assert "GPU962" in lab.codes()


def runs_one_each(lab: Lab, nodes: int, **spec: Any) -> None:
    for number in range(nodes):
        lab.node(f"n{number}", {SHARED: 10})
        lab.pods(1, f"n{number}", **spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}},
        {"topologySpreadConstraints": [{"topologyKey": "kubernetes.io/hostname"}]},
    ],
)
def test_pods_that_want_a_node_alone_get_one_each(spec: dict[str, Any]) -> None:
    lab = karpenter_lab()
    runs_one_each(lab, 8, **spec)

    lab.watch_for(10)
    assert lab.codes() == []
    assert lab.scaling.endless == {}


def test_what_looks_like_a_runaway_for_a_moment_is_none() -> None:
    lab = karpenter_lab()
    lab.pods(60)
    runs_one_each(lab, 8)
    lab.watch_for(0)
    assert lab.scaling.endless == {}
    lab.pods(9, "n0")

    lab.watch_for(10)
    assert lab.scaling.endless == {}


def test_pods_that_have_gone_leave_no_runaway_behind() -> None:
    lab = karpenter_lab()
    lab.pods(80)
    lab.scaling.take_stock()
    for number in range(80):
        lab.pod(f"waits-{number}", "", change="DELETED")
    runs_one_each(lab, 8)

    lab.watch_for(10)
    assert lab.scaling.endless == {}


@pytest.mark.parametrize("shares", [1])
def test_whole_gpus_are_one_pod_each(shares: int) -> None:
    lab = Lab(karpenter(shares, GPU))
    for number in range(12):
        lab.node(f"n{number}", {GPU: 1})
        lab.pods(1, f"n{number}")

    lab.watch_for(10)
    assert lab.codes() == []
    assert lab.scaling.endless == {}


def test_large_pods_get_a_node_each_because_nothing_else_would_do() -> None:
    lab = karpenter_lab()
    large = [{"resources": {"limits": {SHARED: "1"}, "requests": {"cpu": "3"}}}]
    runs_one_each(lab, 8, containers=large)

    lab.watch_for(10)
    assert lab.codes() == []
    assert lab.scaling.needed["gpu"] == 8


def loses(lab: Lab, nodes: int, *, ran: bool = False, waiting: int = 3) -> None:
    lab.pods(waiting)
    for number in range(nodes):
        node = lab.node(f"n{number}")
        if ran:
            lab.pods(1, f"n{number}")
        lab.gone(node)


def test_nodes_that_go_before_any_pod_ran_while_pods_wait_are_a_loop() -> None:
    lab = Lab(group())
    loses(lab, 2)

    lab.watch_for(0)
    assert lab.scaling.endless == {"gpu": LOOP}
    assert lab.message("GPU963").startswith("launches and removes: n0, n1 went before any pod ran")


@pytest.mark.parametrize(
    "case", [{"nodes": 1}, {"nodes": 4, "ran": True}, {"nodes": 4, "waiting": 0}]
)
def test_other_nodes_that_go_are_none(case: dict[str, Any]) -> None:
    lab = Lab(group())
    loses(lab, **case)

    lab.watch_for(10)
    assert lab.scaling.endless == {}
    assert "GPU963" not in lab.codes()
