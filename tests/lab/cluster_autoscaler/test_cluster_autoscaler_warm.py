"""Room that is kept free, by the real Cluster Autoscaler: it comes, gives way, comes again, goes.

A step waits for the minute after which it asks AWS again, so all pools take each step together.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
        reason="minutes of Cluster Autoscaler: EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER=1",
    ),
]

# What conftest.py offers.
ScaledLab = Any
PoolType = Any

TEN = "{mode: timeSlicing, replicas: 10}"
RENAMED = "{mode: timeSlicing, replicas: 10, rename: true}"
GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"


def test_room_is_kept_free(scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path) -> None:
    pools = {
        "shares": pool(RENAMED, SHARED, 8, keys="warm: {shares: 5}"),
        "plain": pool(TEN, GPU, 8, keys="warm: {shares: 5}"),
        "nodes": pool(RENAMED, SHARED, 15, keys="warm: {nodes: 1}"),
    }
    kept = {("shares", "shares"): 5, ("plain", "shares"): 5, ("nodes", "nodes"): 1}
    with scaled_lab(pools, tmp_path) as lab:

        def there(nodes: dict[str, int], pods: dict[str, int]) -> bool:
            return (
                {name: len(lab.machines(name)) for name in pools} == nodes
                and {name: lab.running(name) for name in pools} == pods
                and {each: lab.placeholders(*each) for each in kept} == kept
            )

        least, none = dict.fromkeys(pools, 1), dict.fromkeys(pools, 0)
        lab.await_that(lambda: there(least, none), "room is there before any pod")
        lab.start(*pools)
        # Pods take the places of placeholders, which wait for others.
        full = {name: each.pods for name, each in pools.items()}
        lab.await_that(lambda: there(dict.fromkeys(pools, 2), full), "all pods run, room is there")
        for name in pools:
            lab.scale(name, 0)
        lab.await_that(lambda: there(least, none), "what is too much goes", 300)

        assert {name: len(lab.launched(name)) for name in pools} == dict.fromkeys(pools, 2)
