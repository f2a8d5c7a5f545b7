"""EFA interfaces on the control plane: which nodes hand them out, and to how many pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Desired = Any
Messages = Any

GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"
PLUGIN = "kube-system/aws-efa-k8s-device-plugin"


def test_the_pools_with_efa_hand_it_out_and_no_other(walk: Walk) -> None:
    walk.install("efa")
    walk.apply("efa/workers.yaml")

    report = walk.see(workers=2)
    advertised = {name: pool["advertised"] for name, pool in report["pools"].items()}
    assert advertised == {
        "train": {GPU: 16, EFA: 8},
        "hopper": {GPU: 8, EFA: 32},
        "serve": {GPU: 1},
    }
    reached = report["daemonsets"][PLUGIN]["pools"]
    assert {name: pool["ready"] for name, pool in reached.items() if pool["ready"]} == {
        "train": 2,
        "hopper": 1,
    }
    workers = report["workloads"]["efa-demo/workers"]
    assert (workers["running"], workers["pending"]) == (2, 1)
    assert report["findings"] == []


@pytest.mark.at_length
def test_without_the_plugin_the_pools_are_named(
    walk: Walk, desired: Desired, messages_of: Messages
) -> None:
    cluster = desired("efa")
    kept = tuple(each for each in cluster.releases if "efa" not in each.name)
    walk.install(replace(cluster, releases=kept))

    report = walk.see()
    assert report["pools"]["train"]["advertised"] == {GPU: 16}
    assert set(messages_of(report, "GPU911")) == {
        "No DaemonSet runs an EFA device plugin, so it gives out no EFA interface."
    }
    assert messages_of(report, "GPU913")[0] == (
        "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 32 declared, nvidia.com/gpu: 8 advertised: no "
        "DaemonSet runs an EFA device plugin."
    )


@pytest.mark.at_length
def test_what_keeps_the_plugin_off_a_node_is_named(
    walk: Walk, desired: Desired, messages_of: Messages
) -> None:
    cluster = desired("efa")
    releases = tuple(
        replace(each, values={**each.values, "tolerations": []}) if "efa" in each.name else each
        for each in cluster.releases
    )
    walk.install(replace(cluster, releases=releases))

    assert messages_of(walk.see(), "GPU911")[0] == (
        f"The EFA device plugin ({PLUGIN}) reaches 0 of 1 nodes, so it gives out no EFA interface. "
        "On hopper-0: it does not tolerate the taint nvidia.com/gpu=true:NoSchedule; it does not "
        "tolerate the taint dedicated=hopper:NoSchedule."
    )
