"""n pods that ask for a share each get ceil(n/R) nodes of R shares, whatever the way to share.

The real controller has a sample of n from 1 to 300 for each way; tests/unit/test_nodes_for_pods.py
has every n against what Karpenter is told. It takes some minutes, so it runs only where
EKS_GPUSHARE_TEST_KARPENTER is set.
"""

from __future__ import annotations

import os
import random
from math import ceil

import pytest
from karpenter_scene import POOLS, Case, Scene, until
from ways_to_share import WAYS, as_pools

from eks_gpushare_lab.cloud.settings import CloudSettings

pytestmark = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="EKS_GPUSHARE_TEST_KARPENTER is not set",
)

POOLS_OF_STACK = as_pools(
    "provisioner: karpenter",
    "amiVersion: 1.35.8-20260930",
    "nodes: {max: 300}",
    'karpenter: {consolidateAfter: Never, budgets: [{nodes: "100%"}]}',
)
SETTINGS = CloudSettings(start=0.3)
SEED = random.SystemRandom().randrange(10**6)
"""Of the numbers of pods; a failure shows it."""
MOST = 300


@pytest.mark.parametrize("pool", WAYS)
def test_n_pods_get_the_nodes_that_they_need(scene: Scene, pool: str) -> None:
    way = WAYS[pool]
    # Whole GPUs are a node for each pod: fewer of them will do.
    most = MOST if way.shares > 1 else 30
    (chosen,) = random.Random(f"{SEED}{pool}").sample(range(1, most + 1), 1)  # noqa: S311  (a test's)
    numbers = sorted({chosen, *(n for n in (way.shares, way.shares + 1) if n <= most)})
    cases = {
        f"{pool}-{n}": Case(pool, n, way.resource, nodes=ceil(n / way.shares)) for n in numbers
    }
    scene.start(cases)
    scene.settle(cases, seconds=300, rest=3)
    seen = {name: (len(scene.launched(name)), scene.running(name)) for name in cases}
    for name in cases:
        scene.client.delete(f"/apis/apps/v1/namespaces/default/deployments/{name}")
        scene.client.delete(f"{POOLS}/{name}")
    assert seen == {name: (case.nodes, case.running) for name, case in cases.items()}, SEED


def test_pods_that_come_one_after_the_other_get_no_node_too_many(scene: Scene) -> None:
    """Karpenter counts the free shares of nodes that are there, and of those that boot."""
    chosen = random.Random(SEED)  # noqa: S311  (a test's)
    scene.start({"grows": Case("slices", 1, WAYS["slices"].resource, nodes=1)})
    count = 1
    while count < MOST // 3:
        assert until(lambda: scene.running("grows") == count, 120), (SEED, count)  # noqa: B023  (at once)
        assert len(scene.launched("grows")) == ceil(count / WAYS["slices"].shares), (SEED, count)
        count += chosen.randint(1, 25)
        scene.scale("grows", count)


def test_a_thousand_pods_at_once_get_no_node_too_many(scene: Scene) -> None:
    way = WAYS["slices"]
    case = Case("slices", 1000, way.resource, nodes=ceil(1000 / way.shares))
    scene.start({"thousand": case})
    scene.settle({"thousand": case}, seconds=550, rest=5)

    assert (len(scene.launched("thousand")), scene.running("thousand")) == (case.nodes, 1000)
