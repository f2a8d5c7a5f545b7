"""Pods that ask for shares get their nodes; and what comes of it where Karpenter is misled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from karpenter_scene import Case, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.client import Object

POOLS_OF_STACK = """
      slices: &slices
        provisioner: karpenter
        instanceTypes: [g5.xlarge]
        amiVersion: 1.35.8-20260930
        nodes: {max: 20}
        sharing: {mode: timeSlicing, replicas: 4}
      tens: {<<: *slices, sharing: {mode: timeSlicing, replicas: 10}}
      plain: {<<: *slices, sharing: {mode: timeSlicing, replicas: 4, rename: false}}
      whole: {<<: *slices, sharing: {mode: exclusive}}
      mps: {<<: *slices, instanceTypes: [g6.2xlarge], sharing: {mode: mps, replicas: 4}}
      mixed:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-balanced}
      single:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-3g.20gb, strategy: single}
      both:
        <<: *slices
        instanceTypes: [p4d.24xlarge]
        sharing: {mode: mig, layout: all-3g.20gb, timeSlicing: {replicas: 2}}
      bottle: {<<: *slices, amiFamily: bottlerocket, amiVersion: 1.65.0-0be31b34}
      two: {<<: *slices, instanceTypes: [g5.xlarge, g6.xlarge]}
"""

SHARED, GPU = "nvidia.com/gpu.shared", "nvidia.com/gpu"
CONFIG = "nvidia.com/device-plugin.config"


def limited(**limits: str) -> Callable[[Object], None]:
    """A NodePool with other limits; names have _ for / and -."""

    def edit(pool: Object) -> None:
        pool["spec"]["limits"] = {LIMITS[name]: value for name, value in limits.items()}

    return edit


LIMITS = {"shared": SHARED, "gpu": GPU, "nodes": "nodes", "cpu": "cpu"}


def ordinary(pool: Object) -> None:
    """A taint that pods do not tolerate in place of one that goes."""
    taint = {"key": "not-yet", "value": "true", "effect": "NoSchedule"}
    pool["spec"]["template"]["spec"]["taints"] = [taint]


G5, G6 = "g5.xlarge", "g6.xlarge"

CASES = {
    # As the stack says it.
    "slices": Case("slices", 10, SHARED, nodes=3),
    "plain": Case("plain", 10, GPU, nodes=3),
    "whole": Case("whole", 3, GPU, nodes=3),
    "mps": Case("mps", 9, SHARED, nodes=3),
    "mixed": Case("mixed", 20, "nvidia.com/mig-1g.5gb", nodes=2),
    "single": Case("single", 20, GPU, nodes=2),
    "both": Case("both", 33, "nvidia.com/mig-3g.20gb.shared", nodes=2),
    "bottle": Case("bottle", 10, SHARED, nodes=3),
    # Told nothing, or something else.
    "untold": Case("plain", 7, GPU, nodes=7, overlay={}),
    "untold-renamed": Case("slices", 7, SHARED, nodes=0, overlay={}),
    "too-few": Case("tens", 10, SHARED, nodes=3, overlay={G5: {SHARED: 4, GPU: 0}}),
    "too-many": Case("slices", 10, SHARED, nodes=3, overlay={G5: {SHARED: 10, GPU: 0}}),
    "other-name": Case("slices", 10, SHARED, nodes=3, runs=0, labels={CONFIG: "plain"}),
    "one-of-two": Case("two", 10, SHARED, nodes=3, overlay={G6: {SHARED: 4, GPU: 0}}),
    # Limits count what the overlay says, and nothing else.
    "limit-shares": Case("slices", 10, SHARED, nodes=2, runs=8, edit=limited(shared="11")),
    "limit-none": Case("slices", 10, SHARED, nodes=0, edit=limited(shared="3")),
    "limit-gpus": Case("slices", 10, SHARED, nodes=3, edit=limited(gpu="1")),
    "limit-nodes": Case("slices", 10, SHARED, nodes=3, edit=limited(nodes="1")),
    "limit-cpu": Case("slices", 10, SHARED, nodes=2, runs=8, edit=limited(cpu="8")),
    "limit-plain": Case("plain", 10, GPU, nodes=2, runs=8, edit=limited(gpu="11")),
}


@pytest.fixture(scope="module")
def told(scene: Scene) -> Scene:
    scene.start(CASES)
    scene.settle(CASES)
    return scene


@pytest.mark.parametrize("name", CASES)
def test_it_launches(told: Scene, name: str) -> None:
    case = CASES[name]
    assert len(told.launched(name)) == case.nodes, told.words(name)
    assert told.running(name) == case.running
