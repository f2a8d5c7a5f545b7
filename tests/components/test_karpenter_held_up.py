"""Nodes of Karpenter's that drift and cannot be replaced: what `--before` says, and the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog.karpenter_releases import FEATURE_GATES, GATES_READ, has_gate
from eks_gpushare.program.edits import edits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

POOL: dict[str, Any] = {
    "provisioner": "karpenter",
    "nodes": {"max": 2},
    "instance_types": ["p4d.24xlarge"],
    "zones": ["us-west-2a"],
    "ami_version": "1.35.8-20260930",
    "sharing": {"mode": "mig", "layout": "all-1g.5gb"},
}
RESERVED = {"capacity_type": "reserved", "reservation": {"id": "cr-0123456789abcdef0"}}
KEPT: dict[str, Any] = {"static": True}
FULL: dict[str, Any] = {"static": True, "limits": {"nodes": 2}}
REMOVE = "kubectl delete nodeclaims -l karpenter.sh/nodepool=gpu"
WAITS = (
    "where its reservation has no instance free, none starts and none is drained, until you take "
    f"nodes away: {REMOVE}"
)
ENDS_FIRST = (
    "where its reservation has no instance free, each is drained and ends before another one "
    "starts, and its pods wait meanwhile"
)


@pytest.fixture(scope="module")
def stack(record: Callable[..., Run]) -> Callable[..., Run]:
    """`stack(version, **pool)`: an environment with a pool, and a version of Karpenter."""

    def of(version: str | None, **pool: Any) -> Run:
        def program() -> None:
            import eks_gpushare

            args: Any = {
                "cluster": {"name": "demo", "version": "1.35"},
                "network": {"zones": ["us-west-2a", "us-west-2b"]},
                "pools": {"gpu": {**POOL, **pool}},
                "region": "us-west-2",
                **({"charts": {"karpenter": {"version": version}}} if version else {}),
            }
            eks_gpushare.GpuSharingEnvironment("demo", args)

        return record(program, preview=False)

    return of


def gates(run: Run) -> dict[str, bool]:
    (release,) = (
        resource
        for resource in run.recording.of_type("kubernetes:helm.sh/v3:Release")
        if resource.name == "demo-karpenter-release"
    )
    found: dict[str, bool] = release.inputs["values"]["settings"]["featureGates"]
    return found


@pytest.mark.parametrize(
    ("version", "pool", "on"),
    [
        (None, RESERVED, None),
        ("1.14.3", RESERVED, None),
        ("1.15.0", RESERVED, True),
        (GATES_READ, {**RESERVED, "capacity_type": "capacityBlock"}, True),
        (GATES_READ, {}, None),
        (GATES_READ, {"karpenter": {"capacity_types": ["reserved", "onDemand"]}}, None),
        (GATES_READ, {"nodes": {"desired": 1}, "karpenter": FULL}, None),
        (GATES_READ, {"nodes": {"desired": 2}, "karpenter": FULL}, True),
        (GATES_READ, {"nodes": {"desired": 2}, "karpenter": KEPT}, None),
    ],
)
def test_old_nodes_end_first_where_capacity_is_there_once(
    stack: Callable[..., Run], version: str | None, pool: dict[str, Any], on: bool | None
) -> None:
    if pool.get("karpenter", {}).get("capacity_types"):
        pool = {**pool, "reservation": RESERVED["reservation"]}

    assert gates(stack(version, **pool)).get("terminateFirstDrift") is on


@pytest.mark.parametrize(("version", "says"), [(None, WAITS), (GATES_READ, ENDS_FIRST)])
def test_a_full_reservation_is_told_with_the_way_out(
    stack: Callable[..., Run], version: str | None, says: str
) -> None:
    before, after = (
        stack(version, **RESERVED, ami_version=f"1.35.8-{day}") for day in ("20260930", "20260901")
    )
    (told,) = (
        each.message for each in edits(before.recording, after.recording) if each.name == "demo-gpu"
    )

    assert told.partition("; ")[2].partition(" (")[0].rstrip(".") == says


def test_pods_on_what_no_new_node_has_hold_a_node_whatever_the_gate(
    stack: Callable[..., Run],
) -> None:
    layouts = ("all-1g.5gb", "all-2g.10gb")
    before, after = (
        stack(GATES_READ, **RESERVED, sharing={"mode": "mig", "layout": layout})
        for layout in layouts
    )
    (told,) = (
        each.message
        for each in edits(before.recording, after.recording)
        if each.name == "demo-gpu" and each.effect == "roll"
    )

    assert f"; {ENDS_FIRST}; no new node has nvidia.com/mig-1g.5gb, so a node with a pod" in told
    assert REMOVE in told


@pytest.mark.parametrize(
    ("gate", "version", "there"),
    [
        ("terminateFirstDrift", "1.14.3", False),
        ("terminateFirstDrift", "1.15.0", True),
        ("capacityBuffer", "1.13.1", False),
        ("capacityBuffer", "v1.14.0", True),
        ("nodeOverlays", GATES_READ, False),
        ("nodeOverlays", "1.99.0", None),
        ("nodeOverlay", "1.99.0", True),
        ("nodeOverlay", None, None),
    ],
)
def test_gates_are_known_by_release(gate: str, version: str | None, there: bool | None) -> None:
    assert has_gate(gate, version) is there


def test_gates_are_in_the_order_of_their_names() -> None:
    assert list(FEATURE_GATES) == sorted(FEATURE_GATES)
