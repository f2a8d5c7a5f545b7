"""What a NodePool's words mean: values that no node has, and what is known of a part only."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_objects import POOL
from foreign_reading import merged, read_with

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown
from eks_gpushare.manifests.readers.karpenter import KarpenterReader

OF_CLASS = "karpenter.k8s.aws/instance-"
TYPES = "node.kubernetes.io/instance-type"
SPEC = "spec__template__spec__"


def problems(**more: Any) -> list[Any]:
    (read,) = read_with(KarpenterReader(), merged(POOL, **more))
    return list(read.judgements)


def codes(**more: Any) -> set[str]:
    return {each.rule.id for each in problems(**more)}


def wanted(key: str, *values: object) -> dict[str, Any]:
    of_type = {"key": TYPES, "operator": "In", "values": ["g5.xlarge"]}
    given = {"key": key, "operator": "In", "values": list(values)}
    return {f"{SPEC}requirements": [of_type, given]}


MIB = "Write {}: the memory of a GPU is told in MiB."


@pytest.mark.parametrize(
    ("key", "value", "fixes"),
    [
        ("gpu-memory", "24Gi", [MIB.format(24576)]),
        ("gpu-memory", "1", [MIB.format(1024)]),
        ("gpu-memory", "999", [MIB.format(1022976)]),
        ("gpu-memory", "0", []),
        ("gpu-memory", "1000", []),
        ("gpu-memory", "much", []),
        ("gpu-memory", "\u0662\u0664", []),
        ("memory", "24Gi", []),
        ("memory", "24", []),
    ],
)
def test_the_memory_of_a_gpu_is_told_in_mib(key: str, value: str, fixes: list[str]) -> None:
    found = problems(**wanted(OF_CLASS + key, value))

    assert [each.fix for each in found if each.rule.id == "GPU1264"] == fixes


@pytest.mark.parametrize(
    ("name", "wrong"), [("g5.xlarge", True), ("inf2.xlarge", False), (None, False)]
)
def test_what_nodes_have_is_known_where_their_types_are(name: str | None, wrong: bool) -> None:
    of_type = [{"key": TYPES, "operator": "In", "values": [name]}] if name else []
    given: dict[str, Any] = {f"{SPEC}requirements": of_type}

    found = codes(**given, spec__limits={"aws.amazon.com/neuron": 2, "cpu": 8})
    assert ("GPU1057" in found) == wrong


CILIUM = {"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}
OTHER = {"key": "a.com/b", "effect": "NoSchedule"}
NAMELESS = {"key": UNKNOWN, "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("startup", "taints", "wrong"),
    [
        ([], [CILIUM], True),
        ([NAMELESS], [CILIUM], False),
        ([NAMELESS], [OTHER, OTHER], True),
        ([], [NAMELESS, NAMELESS], False),
        ([], [{"effect": "NoSchedule"}, {"effect": "NoSchedule"}], False),
    ],
)
def test_taints_that_are_known_stand_where_they_belong(
    startup: list[Any], taints: list[Any], wrong: bool
) -> None:
    given: dict[str, Any] = {f"{SPEC}startupTaints": startup, f"{SPEC}taints": taints}

    assert ("GPU1058" in codes(**given)) == wrong


@pytest.mark.parametrize(
    ("limits", "wrong"),
    [({}, True), (UNKNOWN, False), (PartlyKnown(), False), ({"cpu": 8}, False)],
)
def test_limits_that_nobody_knows_are_not_missed(limits: Any, wrong: bool) -> None:
    assert ("GPU1078" in codes(spec__limits=limits)) == wrong
