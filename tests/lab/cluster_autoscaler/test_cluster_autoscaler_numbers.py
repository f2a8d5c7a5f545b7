"""n pods on R shares get ceil(n / R) nodes from the real Cluster Autoscaler, whatever shares them.

Nodes never join here, so that nothing but its arithmetic is seen. Each way of sharing has numbers
at its edges and some that are chosen anew by EKS_GPUSHARE_TEST_SEED, from 1 to 300.
"""

from __future__ import annotations

import math
import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.cloud.settings import CloudSettings

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

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
SMALL, HALF = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
P4D = "[p4d.24xlarge]"
SEED = int(os.environ.get("EKS_GPUSHARE_TEST_SEED", "12"))
MOST_PODS = 300
NEVER_SECONDS = 3600.0

_TEN, _FOUR = "mode: timeSlicing, replicas: 10", "mode: mps, replicas: 4"
_SMALL, _MIXED = "mode: mig, layout: all-1g.5gb", "mode: mig, layout: all-balanced"
_HALVES = "mode: mig, layout: all-3g.20gb"

# By name: sharing, what pods ask for, types, and how many of them a node has.
KINDS = {
    "whole": ("mode: exclusive", GPU, "[g5.12xlarge]", 4),
    "ten": (_TEN, GPU, "[g5.xlarge]", 10),
    "renamed": (f"{_TEN}, rename: true", SHARED, "[g5.xlarge]", 10),
    "forty": (f"{_TEN}, rename: true", SHARED, "[g5.12xlarge]", 40),
    "mps": (_FOUR, GPU, "[g6.xlarge]", 4),
    "mps-renamed": (f"{_FOUR}, rename: true", SHARED, "[g6.xlarge]", 4),
    "small": (_SMALL, SMALL, P4D, 56),
    "balanced": (_MIXED, SMALL, P4D, 16),
    "single": (f"{_SMALL}, strategy: single", GPU, P4D, 56),
    "both": (f"{_HALVES}, timeSlicing: {{replicas: 4}}", HALF, P4D, 64),
    "both-renamed": (
        f"{_SMALL}, timeSlicing: {{replicas: 4, rename: true}}",
        f"{SMALL}.shared",
        P4D,
        224,
    ),
    "single-shared": (
        f"{_HALVES}, strategy: single, timeSlicing: {{replicas: 4, rename: true}}",
        SHARED,
        P4D,
        64,
    ),
}


@pytest.mark.parametrize("kinds", [list(KINDS)[::2], list(KINDS)[1::2]], ids=["even", "odd"])
def test_any_number_of_pods_gets_as_many_nodes_as_it_fills(
    scaled_lab: ScaledLab, pool: PoolType, tmp_path: Path, kinds: list[str]
) -> None:
    chosen = random.Random(f"{SEED} {kinds}")  # noqa: S311  (no secret)
    wanted, pools = {}, {}
    for kind in kinds:
        sharing, resource, types, shares = KINDS[kind]
        numbers = (1, shares, shares + 1, chosen.randint(1, MOST_PODS))
        for n in dict.fromkeys(min(number, MOST_PODS) for number in numbers):
            name = f"{kind}-{n}"
            pools[name] = pool(f"{{{sharing}}}", resource, n, types, most=MOST_PODS)
            wanted[name] = math.ceil(n / shares)
    with scaled_lab(pools, tmp_path, CloudSettings(start=NEVER_SECONDS)) as lab:
        lab.deploy(*pools)
        lab.await_that(lambda: all(lab.launched(name) for name in pools), "each has a node", 300)
        lab.await_rest()

        assert {name: len(lab.launched(name)) for name in pools} == wanted
