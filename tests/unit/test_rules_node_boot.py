"""Rules about what happens on a node before kubelet starts."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

OPERATOR = {"gpuStack": {"manager": "gpuOperator"}}
MIG: dict[str, Any] = {
    "instanceTypes": ["p5.48xlarge"],
    "sharing": {"mode": "mig", "layout": "all-1g.10gb"},
}


def pool(code: str, stack: dict[str, Any] | None = None, **changes: Any) -> list[tuple[str, str]]:
    return findings({**(stack or {}), "pools": {"gpu": changes}}, code)


def test_a_layout_at_boot_needs_a_release_that_reads_drop_ins() -> None:
    [(path, message)] = pool("GPU640", **MIG, amiVersion="1.35.0-20251022")

    assert path == "pools.gpu.amiVersion"
    assert message == (
        "Release 1.35.0-20251022 is older than 2025-10-23, from which on nodes read "
        "/etc/eks/nodeadm.d."
    )


@pytest.mark.parametrize(
    "changes",
    [
        {**MIG, "amiVersion": "1.35.0-20251023"},
        {**MIG, "amiVersion": None},
        {"amiVersion": "1.35.0-20251022"},
        {**MIG, "amiFamily": "bottlerocket", "amiVersion": "1.65.0-0be31b34"},
    ],
)
def test_other_releases_and_pools_have_nothing_to_fear(changes: dict[str, Any]) -> None:
    assert pool("GPU640", **changes) == []


@pytest.mark.parametrize(
    ("date", "lost"),
    [("20260916", 0), ("20260917", 1), ("20260923", 1), ("20260924", 0)],
)
def test_some_releases_lose_the_libraries_of_the_driver(date: str, lost: int) -> None:
    found = pool("GPU641", amiVersion=f"1.35.8-{date}")

    assert [path for path, _ in found] == ["pools.gpu.amiVersion"] * lost


def test_a_pool_of_the_operator_that_does_not_wait_is_warned_of() -> None:
    [(path, message)] = pool("GPU642", OPERATOR, waitForDriver=False)

    assert path == "pools.gpu.waitForDriver"
    assert message == (
        "Kubelet may start before the driver, and the GPU Operator then waits for a driver in "
        "a container, for ever."
    )


@pytest.mark.parametrize(("stack", "asked"), [(OPERATOR, True), (OPERATOR, None), ({}, False)])
def test_others_are_not(stack: dict[str, Any], asked: bool | None) -> None:
    assert pool("GPU642", stack, waitForDriver=asked) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"amiFamily": "bottlerocket", "amiVersion": None},
            "Bottlerocket orders its driver before kubelet itself",
        ),
        ({"provisioner": "existing"}, "this stack does not make these nodes"),
        (MIG, "kubelet waits here for the MIG layout already, and with it for the driver"),
        (
            {
                "amiFamily": "custom",
                "amiVersion": None,
                "customAmi": {
                    "id": "ami-0123456789abcdef0",
                    "family": "al2023",
                    "driverIncluded": False,
                },
            },
            "a pod installs the driver of this AMI, and pods need kubelet",
        ),
    ],
)
def test_waiting_is_refused_where_it_makes_no_sense(changes: dict[str, Any], why: str) -> None:
    assert pool("GPU643", OPERATOR, waitForDriver=True, **changes) == [
        ("pools.gpu.waitForDriver", f"Kubelet cannot wait here: {why}.")
    ]
    assert pool("GPU642", OPERATOR, waitForDriver=False, **changes) == []
