"""When the scheduler has not yet looked again at a pod that would fit by now."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare_lab.observing.scheduling import is_behind, other_words

GPU = "nvidia.com/gpu"
TAINT = {"key": GPU, "effect": "NoSchedule"}
TOO_FEW = f"0/1 nodes are available: 1 Insufficient {GPU}. preemption: 0/1 nodes are available."
NO_NODES = "no nodes available to schedule pods"
PORTS = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
VOLUME = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'


def node(gpus: int, *taints: dict[str, str]) -> dict[str, Any]:
    allocatable = {"cpu": "4", GPU: str(gpus)}
    return {
        "metadata": {"name": "n"},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, said: str, reason: str = "Unschedulable", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "resources": {"limits": {GPU: "1"}}}]
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": said}
    return {
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {"containers": containers, **spec},
        "status": {"phase": "Pending", "conditions": [condition] if said else []},
    }


@pytest.mark.parametrize(
    ("waiting", "nodes", "behind"),
    [
        (pod("p", TOO_FEW), [node(1)], True),
        (pod("p", NO_NODES), [node(1)], True),
        (pod("p", NO_NODES), [], False),
        (pod("p", TOO_FEW), [node(0)], False),
        (pod("p", TOO_FEW), [node(1, TAINT)], False),
        (pod("p", TOO_FEW), [node(0), node(1)], True),
        (pod("p", TOO_FEW, nodeSelector={"pool": "other"}), [node(1)], False),
        (pod("p", "a gate holds it", "SchedulingGated"), [node(1)], False),
        (pod("p", PORTS), [node(1)], False),
        (pod("p", VOLUME), [node(1)], False),
        (pod("p", ""), [node(1)], False),
    ],
)
def test_a_pod_that_fits_by_now_is_one_to_be_tried_again(
    waiting: dict[str, Any], nodes: list[dict[str, Any]], *, behind: bool
) -> None:
    assert is_behind([waiting], nodes) is behind


def test_what_other_pods_have_is_not_free() -> None:
    there = pod("there", "", nodeName="n")

    assert not is_behind([there, pod("p", TOO_FEW)], [node(1)])
    assert is_behind([there, pod("p", TOO_FEW)], [node(2)])
    there["status"]["phase"] = "Succeeded"
    assert is_behind([there, pod("p", TOO_FEW)], [node(1)])


def test_what_the_scheduler_says_beside_is_kept_without_its_counts() -> None:
    assert other_words(pod("p", TOO_FEW)) == []
    assert other_words(pod("p", PORTS)) == [
        "node(s) didn't have free ports for the requested pod ports"
    ]
