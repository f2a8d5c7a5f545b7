"""What is said of pods that do not get ready. Their states are what kubelet and scheduler write."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.in_cluster.waiting_pods import waiting

NAME = "nvidia-device-plugin-x7k2p"
PULL = 'Back-off pulling image "registry.example/k8s-device-plugin:v0.20.0"'
NO_NODE = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": NAME}, "status": status}


def container(name: str = "ctr", **state: Any) -> dict[str, Any]:
    return {"name": name, "ready": False, "state": state}


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": NO_NODE,
}


def test_a_pod_without_a_node() -> None:
    found = waiting([pod(phase="Pending", conditions=[UNSCHEDULABLE])])

    assert found == {NAME: f"Unschedulable: {NO_NODE}"}


def test_an_image_that_cannot_be_pulled() -> None:
    state = {"reason": "ImagePullBackOff", "message": PULL}

    found = waiting([pod(phase="Pending", containerStatuses=[container(waiting=state)])])

    assert found == {f"{NAME}/ctr": f"ImagePullBackOff: {PULL}"}


def test_a_container_that_ends_again_and_again() -> None:
    crashing = {
        **container(waiting={"reason": "CrashLoopBackOff", "message": "back-off 10s"}),
        "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
    }

    found = waiting([pod(phase="Running", containerStatuses=[crashing])])

    assert found == {
        f"{NAME}/ctr": "CrashLoopBackOff: back-off 10s; it ended before: Error: exit code 1"
    }


def test_an_init_container_that_failed() -> None:
    failed = container("toolkit-validation", terminated={"reason": "Error", "exitCode": 2})

    found = waiting([pod(phase="Pending", initContainerStatuses=[failed])])

    assert found == {f"{NAME}/toolkit-validation": "Error: exit code 2"}


def test_a_state_without_a_reason() -> None:
    found = waiting([pod(containerStatuses=[container(waiting={})])])

    assert found == {f"{NAME}/ctr": "no reason is given"}


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"containerStatuses": [container(running={"startedAt": "2026-11-22T05:00:00Z"})]},
        {"containerStatuses": [container(waiting={"reason": "ContainerCreating"})]},
        {"initContainerStatuses": [container(waiting={"reason": "PodInitializing"})]},
        {"initContainerStatuses": [container(terminated={"exitCode": 0})]},
        {"conditions": [{"type": "PodScheduled", "status": "True"}]},
        {"conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]},
    ],
)
def test_nothing_is_said_of_what_is_on_its_way(status: dict[str, Any]) -> None:
    assert waiting([pod(**status)]) == {}
