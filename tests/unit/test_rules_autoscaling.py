"""What somebody else's autoscaler has to know of a pool's taints, on both sides of each rule."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.sharing.mig_boot import MIG_FAILED_TAINT
from eks_gpushare.sharing.mig_manager import STARTUP_TAINT_KEY


def stack(apply: str, **pool: Any) -> dict[str, Any]:
    sharing = {"mode": "mig", "layout": "all-1g.10gb", "apply": apply}
    made = {"instanceTypes": ["p5.48xlarge"], "sharing": sharing, **pool}
    return {"gpuStack": {"manager": "gpuOperator"}, "pools": {"gpu": made}}


def test_the_startup_taint_is_named_where_an_autoscaler_decides() -> None:
    given = stack("migManager", scaledBy="autoscaler")

    assert findings(given, "GPU281") == [
        (
            "pools.gpu.scaledBy",
            (
                f"An autoscaler decides the size, and nodes of this pool join with the taint "
                f"{STARTUP_TAINT_KEY} until MIG manager is done; no pod tolerates it."
            ),
        )
    ]
    assert findings(given, "GPU282") == []


def test_the_taint_of_a_failed_boot_is_named_where_an_autoscaler_decides() -> None:
    key = MIG_FAILED_TAINT.partition("=")[0]
    given = stack("boot", scaledBy="autoscaler")

    assert findings(given, "GPU282") == [
        (
            "pools.gpu.scaledBy",
            (
                "An autoscaler decides the size, and a node of this pool that cannot make its MIG "
                f"layout joins with the taint {key}; no pod tolerates it."
            ),
        )
    ]
    assert findings(given, "GPU281") == []


@pytest.mark.parametrize("apply", ["boot", "migManager"])
@pytest.mark.parametrize("pool", [{"scaledBy": "stack"}, {}])
def test_the_stack_looks_at_no_taints(apply: str, pool: dict[str, Any]) -> None:
    for code in ("GPU281", "GPU282"):
        assert findings(stack(apply, **pool), code) == []


def test_nodes_without_such_taints_need_no_flag() -> None:
    sharing = {"mode": "timeSlicing", "replicas": 4}
    given = stack("boot", scaledBy="autoscaler", sharing=sharing, instanceTypes=["g5.xlarge"])

    for code in ("GPU281", "GPU282"):
        assert findings(given, code) == []


def test_the_taint_of_an_agent_is_named_where_an_autoscaler_decides() -> None:
    key = "node.cilium.io/agent-not-ready"
    sharing = {"mode": "timeSlicing", "replicas": 4}
    taints = [
        {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"},
        {"key": key, "effect": "NoExecute"},
    ]
    given = stack(
        "boot",
        scaledBy="autoscaler",
        sharing=sharing,
        instanceTypes=["g5.xlarge"],
        taints=taints,
    )

    found = [
        (
            "pools.gpu.scaledBy",
            (
                f"An autoscaler decides the size, and nodes of this pool join with the taint {key} "
                "until its agent runs; other pods do not tolerate it."
            ),
        )
    ]
    assert findings(given, "GPU281") == found
    assert findings({**given, "clusterAutoscaler": {}}, "GPU281") == []


@pytest.mark.parametrize(
    ("pool", "at"),
    [
        ({"scaledBy": "autoscaler"}, ["pools.gpu.zones"]),
        ({"scaledBy": "autoscaler", "zones": ["us-west-2a", "us-west-2b"]}, ["pools.gpu.zones"]),
        ({"scaledBy": "autoscaler", "zones": ["us-west-2a"]}, []),
        ({}, []),
        ({"provisioner": "karpenter", "nodes": {"min": None, "desired": None, "max": 4}}, []),
    ],
)
def test_a_group_of_several_zones_has_one_model(pool: dict[str, Any], at: list[str]) -> None:
    found = findings({"pools": {"gpu": pool}}, "GPU444")

    assert [path for path, _ in found] == at


def test_subnets_of_a_network_that_is_there_are_zones_too() -> None:
    subnets = ["subnet-07c1f29d6e4b8a35d", "subnet-08c1f29d6e4b8a35d"]
    network = {
        "zones": None,
        "vpcId": "vpc-07c1f29d6e4b8a35d",
        "privateSubnetIds": subnets,
    }
    several = {
        "network": network,
        "pools": {"gpu": {"scaledBy": "autoscaler", "subnetIds": subnets}},
    }

    assert [at for at, _ in findings(several, "GPU444")] == ["pools.gpu.subnetIds"]
