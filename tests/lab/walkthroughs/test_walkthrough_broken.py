"""Stacks with one broken link each: the lab names it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Shortly = Any
Messages = Any
Codes = Any

GPU = "nvidia.com/gpu"
PLUGIN = "nvidia-device-plugin/nvidia-device-plugin"


def test_a_taint_that_no_daemonset_tolerates(
    walk: Walk, messages_of: Messages, shortly: Shortly
) -> None:
    walk.install("taint-not-tolerated")

    report = walk.see()
    assert shortly(report["pools"]["gpu"]) == {"nodes": 2, "declared": {GPU: 80}, "advertised": {}}
    assert report["daemonsets"][PLUGIN]["pools"]["gpu"] == {"nodes": 2, "desired": 0, "ready": 0}
    assert messages_of(report, "GPU911")[0] == (
        f"The device plugin ({PLUGIN}) reaches 0 of 2 nodes, so nothing advertises its GPUs. "
        "On gpu-0: it does not tolerate the taint team=ml:NoSchedule."
    )
    assert messages_of(report, "GPU913")[1] == (
        f"nvidia.com/gpu: 40 declared, nothing advertised: no pod of {PLUGIN} is on it. "
        "On gpu-1: it does not tolerate the taint team=ml:NoSchedule."
    )


@pytest.mark.at_length
def test_a_renamed_share_needs_a_toleration_of_its_own(walk: Walk, messages_of: Messages) -> None:
    walk.install("renamed")
    walk.apply("renamed/workloads.yaml")

    report = walk.see(with_toleration=3, without_toleration=0)
    assert report["pools"]["gpu"]["advertised"] == {"nvidia.com/gpu.shared": 16}
    assert report["workloads"]["gpu-demo/with-toleration"]["running"] == 3
    waiting = report["workloads"]["gpu-demo/without-toleration"]
    assert (waiting["running"], waiting["pending"]) == (0, 2)
    assert waiting["reasons"][0].startswith(
        "2 pods: 0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 Insufficient nvidia.com/gpu.shared."
    )
    assert waiting["reasons"][1] == (
        "gpu-0: the pod does not tolerate nvidia.com/gpu=true:NoSchedule"
    )
    assert messages_of(report, "GPU924") == [
        (
            "It does not tolerate nvidia.com/gpu=true:NoSchedule, and no node with "
            "nvidia.com/gpu.shared is without. EKS adds a toleration for the taint "
            "nvidia.com/gpu.shared alone."
        )
    ]


@pytest.mark.at_length
def test_another_version_of_the_chart_is_one_error_and_no_daemon_set(
    walk: Walk, desired: Callable[[str], DesiredCluster], shortly: Shortly
) -> None:
    known = desired("time-slicing")
    (release,) = known.releases
    walk.install(replace(known, releases=(replace(release, version="0.17.4"),)))
    walk.apply("exclusive/cifar10.yaml")

    report = walk.see()
    assert set(report["daemonsets"]) == {
        "kube-system/dcgm-server",
        "kube-system/eks-node-monitoring-agent",
    }
    assert shortly(report["pools"]["gpu"]) == {"nodes": 1, "declared": {GPU: 40}, "advertised": {}}
    assert [(each["code"], each["severity"]) for each in report["findings"]] == [
        ("GPU904", "error")
    ]


@pytest.mark.at_length
def test_a_config_map_that_nobody_refers_to(
    walk: Walk, codes_of: Codes, messages_of: Messages
) -> None:
    walk.install("exclusive")
    walk.apply("config-map-nobody-reads/config-map.yaml", "exclusive/cifar10.yaml")

    report = walk.see(tensorflow_cifar10_deployment=5)
    (unread,) = [each for each in report["findings"] if each["code"] == "GPU914"]
    assert report["pools"]["gpu"]["advertised"] == {GPU: 4}
    assert unread["path"] == 'configMaps["kube-system/nvidia-device-plugin"]'
    assert unread["message"].startswith(
        "It looks like a device plugin's configuration, and no device plugin reads it;"
    )
    assert messages_of(report, "GPU931") == ["5 pods were expected to run, and 4 do."]
    assert codes_of(report) == ["GPU931"]


@pytest.mark.at_length
def test_a_misspelt_key_in_a_config_map_of_ones_own(walk: Walk, messages_of: Messages) -> None:
    walk.install("misspelt-key")

    report = walk.see()
    assert report["pools"]["gpu"]["advertised"] == {GPU: 4}
    assert messages_of(report, "GPU913") == [
        (
            "nvidia.com/gpu: 40 declared, nvidia.com/gpu: 4 advertised: its device plugin read key "
            "'gpu' of ConfigMap by-hand: nothing is shared. It dropped keys that it does not know: "
            "sharing.timeSlicng (timeSlicing is meant?)."
        )
    ]


def test_a_label_that_names_a_missing_key(walk: Walk, messages_of: Messages) -> None:
    walk.install("other-key")

    report = walk.see()
    assert report["daemonsets"][PLUGIN]["pools"]["gpu"] == {"nodes": 1, "desired": 1, "ready": 0}
    assert messages_of(report, "GPU913") == [
        (
            "nvidia.com/gpu: 40 declared, nothing advertised: its device plugin is in "
            "CrashLoopBackOff: specified config gpu does not exist. The label "
            "nvidia.com/device-plugin.config names the key gpu; by-hand has any."
        )
    ]


@pytest.mark.at_length
def test_a_node_with_another_label_loses_its_device_plugin(
    walk: Walk, messages_of: Messages
) -> None:
    walk.install("time-slicing")
    walk.apply("relabelled-node/node.yaml")

    report = walk.see()
    node = walk.session.watches.nodes.get("gpu-0")
    assert messages_of(report, "GPU913") == [
        (
            f"nvidia.com/gpu: 40 declared, nothing advertised: no pod of {PLUGIN} is on it. "
            "On gpu-0: affinity wants nvidia.com/device-plugin.config In gpu (the node has "
            "nvidia.com/device-plugin.config=fast)."
        )
    ]
    assert node["status"]["capacity"][GPU] == "40"
    assert node["status"]["allocatable"][GPU] == "0"
