"""What is noticed on a live lab, and what is not, as by the original programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Shortly = Any
Messages = Any
Desired = Any
Values = Any

GPU = "nvidia.com/gpu"
DAEMONS = "/api/v1/namespaces/nvidia-device-plugin"


def shares(replicas: int, *, rename: bool = False) -> str:
    resource = f"{{name: {GPU}, replicas: {replicas}}}"
    renamed = f"renameByDefault: {str(rename).lower()}"
    return f"{{version: v1, sharing: {{timeSlicing: {{{renamed}, resources: [{resource}]}}}}}}"


def by_hand(walk: Walk, **data: str) -> None:
    """A ConfigMap of one's own under a name that stays."""
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata = {"name": "by-hand", "namespace": "nvidia-device-plugin"}
    walk.session.client.apply({**kind, "metadata": metadata, "data": data})
    walk.session.touch()


def install_by_hand(walk: Walk, desired: Desired, **values: Values) -> None:
    """A stack whose release reads that ConfigMap and goes to every labelled node."""
    stack = desired("time-slicing")
    (release,) = stack.releases
    config = {"name": "by-hand", "default": "", "fallbackStrategies": ["named", "single"]}
    changed = {**release.values, "affinity": {"nodeAffinity": None}, "config": config, **values}
    affinity = {"nodeSelector": {"nvidia.com/gpu.present": "true"}, "affinity": None}
    walk.install(replace(stack, releases=(replace(release, values={**changed, **affinity}),)))


def advertised(walk: Walk) -> int:
    assert walk.session.settle()
    count: int = walk.see()["nodes"]["gpu-0"]["advertised"].get(GPU, 0)
    return count


def test_an_edited_config_map_goes_unnoticed_until_the_pods_roll(
    walk: Walk, desired: Desired
) -> None:
    walk.install("time-slicing")
    by_hand(walk, gpu=shares(3))
    install_by_hand(walk, desired)
    before = advertised(walk)
    by_hand(walk, gpu=shares(5))
    edited = advertised(walk)
    install_by_hand(walk, desired, podAnnotations={"roll": "1"})

    assert (before, edited, advertised(walk)) == (12, 12, 20)


@pytest.mark.at_length
def test_another_label_is_noticed(walk: Walk, desired: Desired) -> None:
    walk.install("time-slicing")
    by_hand(walk, gpu=shares(3), fast=shares(2))
    install_by_hand(walk, desired)
    before = advertised(walk)
    walk.apply("relabelled-node/node.yaml")

    assert (before, advertised(walk)) == (12, 8)


@pytest.mark.at_length
def test_a_node_keeps_the_name_that_it_advertised_before_it_was_renamed(
    walk: Walk, desired: Desired
) -> None:
    """The kubelet shows 0 for it; a node that begins with the new name has no such resource."""
    walk.install("time-slicing")
    by_hand(walk, gpu=shares(3), fast=shares(2, rename=True))
    install_by_hand(walk, desired)
    before = walk.see()["nodes"]["gpu-0"]["advertised"]
    walk.apply("relabelled-node/node.yaml")
    assert walk.session.settle()

    assert before == {GPU: 12}
    assert walk.see()["nodes"]["gpu-0"]["advertised"] == {GPU: 0, f"{GPU}.shared": 8}


@pytest.mark.at_length
def test_a_label_without_a_key_leaves_a_running_plugin_as_it_is(
    walk: Walk, desired: Desired, messages_of: Messages
) -> None:
    walk.install("time-slicing")
    by_hand(walk, gpu=shares(10))
    install_by_hand(walk, desired)
    walk.apply("relabelled-node/node.yaml")

    report = walk.see()
    assert report["pools"]["gpu"]["advertised"] == {GPU: 40}
    assert messages_of(report, "GPU912")[0].startswith(
        "nvidia-device-plugin is in CrashLoopBackOff: specified config fast does not exist."
    )


def test_a_crash_loop_ends_when_the_key_comes(walk: Walk, desired: Desired) -> None:
    walk.install("time-slicing")
    by_hand(walk, other=shares(3))
    install_by_hand(walk, desired)
    before = advertised(walk)
    by_hand(walk, other=shares(3), gpu=shares(4))

    assert (before, advertised(walk)) == (0, 16)


@pytest.mark.at_length
def test_a_config_map_that_is_not_there(
    walk: Walk, desired: Desired, messages_of: Messages
) -> None:
    walk.install("time-slicing")
    walk.session.client.delete(f"{DAEMONS}/configmaps/by-hand")
    install_by_hand(walk, desired)

    (message,) = messages_of(walk.see(), "GPU913")
    assert message == (
        "nvidia.com/gpu: 40 declared, nothing advertised: its device plugin is in "
        'ContainerCreating: MountVolume.SetUp failed for volume: configmap "by-hand" not found.'
    )


@pytest.mark.at_length
def test_a_node_that_goes_takes_its_shares_with_it(
    walk: Walk, desired: Desired, shortly: Shortly
) -> None:
    walk.install("time-slicing")
    stack = desired("time-slicing")
    pools = tuple(replace(pool, nodes=2) if pool.is_gpu_pool else pool for pool in stack.pools)
    walk.install(replace(stack, pools=pools))
    two = walk.see()["pools"]["gpu"]
    walk.install(stack)

    assert shortly(two) == {"nodes": 2, "declared": {GPU: 80}, "advertised": {GPU: 80}}
    assert walk.session.watches.nodes.get("gpu-1") is None
