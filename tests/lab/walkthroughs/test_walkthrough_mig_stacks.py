"""MIG on the real scheduler: layouts made at boot, by the MIG manager, and by Bottlerocket."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any

GPU = "nvidia.com/gpu"
SMALL, MEDIUM, LARGE = (f"nvidia.com/mig-{p}" for p in ("1g.5gb", "2g.10gb", "3g.20gb"))
FILES = {"mig1-5": "mig/small.yaml", "mig2-10": "mig/medium.yaml", "mig3-20": "mig/large.yaml"}


def counts(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        name.removeprefix("mig-demo/"): (each["running"], each["pending"])
        for name, each in report["workloads"].items()
        if name.startswith("mig-demo/")
    }


@pytest.mark.at_length
def test_56_of_100_pods_run_on_a_node_of_the_smallest_devices(walk: Walk) -> None:
    walk.install("mig-uniform")
    walk.apply(FILES["mig1-5"])
    walk.scale("mig1-5", 100)

    report = walk.see(mig1_5=56)
    assert report["pools"]["gpu"]["advertised"] == {SMALL: 56}
    assert counts(report) == {"mig1-5": (56, 44)}
    assert report["findings"] == []


@pytest.mark.at_length
def test_balanced_devices_run_16_8_and_8_of_20_pods_each(walk: Walk) -> None:
    walk.install("mig-balanced")
    walk.apply(*FILES.values())
    for name in FILES:
        walk.scale(name, 20)

    report = walk.see(mig1_5=16, mig2_10=8, mig3_20=8)
    assert report["pools"]["gpu"]["advertised"] == {SMALL: 16, MEDIUM: 8, LARGE: 8}
    assert counts(report) == {"mig1-5": (16, 4), "mig2-10": (8, 12), "mig3-20": (8, 12)}
    assert report["findings"] == []


@pytest.mark.at_length
@pytest.mark.parametrize(
    ("stack", "resource", "workload", "count"),
    [("mig-2g", MEDIUM, "mig2-10", 24), ("mig-3g", LARGE, "mig3-20", 16)],
)
def test_larger_devices_are_fewer(
    walk: Walk, stack: str, resource: str, workload: str, count: int
) -> None:
    walk.install(stack)
    walk.apply(FILES[workload])
    walk.scale(workload, 30)

    report = walk.see(**{workload.replace("-", "_"): count})
    assert report["pools"]["gpu"]["advertised"] == {resource: count}
    assert counts(report) == {workload: (count, 30 - count)}
    assert report["findings"] == []


@pytest.mark.at_length
def test_four_pods_take_turns_on_each_device(walk: Walk) -> None:
    walk.install("mig-time-slicing")
    walk.apply(FILES["mig1-5"])
    walk.scale("mig1-5", 230)

    report = walk.see(mig1_5=224)
    assert report["pools"]["gpu"]["advertised"] == {SMALL: 224}
    assert counts(report) == {"mig1-5": (224, 6)}
    assert report["findings"] == []


def test_the_mig_manager_partitions_as_the_node_label_says(walk: Walk) -> None:
    walk.install("gpu-operator")
    walk.apply(FILES["mig1-5"])
    walk.scale("mig1-5", 100)

    report = walk.see(mig1_5=56)
    # The plugin advertised whole GPUs until the manager came, and kubelet remembers the name.
    assert report["pools"]["mig"]["advertised"] == {GPU: 0, SMALL: 56}
    assert report["pools"]["slices"]["advertised"] == {GPU: 16}
    assert counts(report) == {"mig1-5": (56, 44)}
    assert report["findings"] == []


def test_bottlerocket_calls_every_device_a_gpu(walk: Walk) -> None:
    walk.install("bottlerocket")

    report = walk.see()
    assert report["pools"]["mig"]["advertised"] == {GPU: 56}
    assert report["pools"]["slices"]["advertised"] == {GPU: 4}
    assert report["findings"] == []


@pytest.mark.at_length
def test_pools_of_every_kind_share_a_cluster(walk: Walk) -> None:
    walk.install("multi-tenant")

    report = walk.see()
    assert {name: pool["advertised"] for name, pool in report["pools"].items()} == {
        "whole": {GPU: 1},
        "notebooks": {f"{GPU}.shared": 8},
        "inference": {GPU: 4},
        "tenants": {GPU: 1, SMALL: 28, LARGE: 6},
    }
    assert report["findings"] == []
