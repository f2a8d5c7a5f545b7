"""Edits of pools without nodes, and what the real Cluster Autoscaler then buys.

It remembers the last node of a group, and would go by it for as long as it runs: after an edit from
4 to 10 replicas it buys by 4, and for a MIG profile that is new it buys nothing
(https://github.com/kubernetes/autoscaler/issues/6452).
"""

from __future__ import annotations

import os
from dataclasses import replace
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

SHARED, SMALL, LARGE = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
RENAMED = "{mode: timeSlicing, replicas: %d, rename: true}"
MIG = "{mode: mig, layout: %s}"


def test_an_edit_of_a_pool_that_had_nodes_is_known_at_once(
    scaled_lab: Any, pool: Any, tmp_path: Path
) -> None:
    pools = {
        "shared": pool(RENAMED % 4, SHARED, 3),
        "mig": pool(MIG % "all-1g.5gb", SMALL, 3, "[p4d.24xlarge]"),
    }
    edited = {
        "shared": replace(pools["shared"], sharing=RENAMED % 10, pods=25),
        "mig": replace(pools["mig"], sharing=MIG % "all-2g.10gb", resource=LARGE, pods=40),
    }
    with scaled_lab(pools, tmp_path) as lab:
        lab.deploy(*pools)
        lab.await_that(lambda: all(lab.running(name) == 3 for name in pools), "the first pods run")
        for name in pools:
            lab.scale(name, 0)
        lab.await_that(lambda: not any(map(lab.machines, pools)), "their nodes go", 300)

        plans = {name: len(lab.plans(name)) for name in pools}

        lab.edit(edited, tmp_path)
        lab.deploy(*edited)
        lab.await_that(lambda: all(len(lab.plans(name)) > plans[name] for name in pools), "plans")

        # 10 shares a node, and 8 GPUs of 3 devices.
        bought = {name: lab.plans(name)[count] for name, count in plans.items()}
        assert bought == {"shared": (0, 3), "mig": (0, 2)}
