"""Taints that controllers take away are warnings, and others are not."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

GPU = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def taken(*taints: dict[str, Any]) -> list[str]:
    found = findings({"pools": {"gpu": {"taints": list(taints)}}}, "GPU655")
    return [path for path, _ in found]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute", "PreferNoSchedule"])
@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "karpenter.sh/unregistered",
        "karpenter.sh/disrupted",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
    ],
)
def test_a_taint_that_a_controller_takes_away(key: str, effect: str) -> None:
    assert taken(GPU, {"key": key, "effect": effect}) == ["pools.gpu.taints[1]"]


@pytest.mark.parametrize(
    "key", ["ebs.csi.aws.com/agent-not-ready", "node.cilium.io/agent-not-ready"]
)
def test_a_taint_of_an_agent_needs_one_that_stays(key: str) -> None:
    agent = {"key": key, "effect": "NoExecute"}

    assert taken(agent) == ["pools.gpu.taints[0]"]
    assert taken(agent, {**GPU, "effect": "PreferNoSchedule"}) == ["pools.gpu.taints[0]"]
    assert taken(agent, GPU) == []


@pytest.mark.parametrize(
    "key",
    [
        *("nvidia.com/gpu", "dedicated", "node.kubernetes.io/gpu", "example.com/not-ready"),
        *("node.example.com/unschedulable", "CriticalAddonsOnly", "karpenter.sh/team"),
    ],
)
def test_a_taint_that_stays(key: str) -> None:
    assert taken({"key": key, "value": "true", "effect": "NoSchedule"}) == []
