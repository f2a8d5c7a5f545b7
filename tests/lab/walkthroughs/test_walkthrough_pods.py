"""The pods that `preview` prints run on the pools they are printed for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import sampled

from eks_gpushare.program.preview import locate, preview
from eks_gpushare.program_verbs.pods import pod_text

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("stack", sampled(["multi-tenant", "mig-balanced"], 2))
def test_a_printed_pod_of_each_resource_of_each_pool_runs(walk: Walk, stack: str) -> None:
    """Renamed shares, MPS, MIG devices and whole GPUs, behind taints of other values."""
    pools = preview(*locate(str(ROOT / "stacks" / f"Pulumi.{stack}.yaml"))).pools
    wanted = [(name, s["resource"]) for name, pool in pools.items() for s in pool["shares"]]
    walk.install(stack)

    walk.apply(text="---\n".join(pod_text(pools, *each) for each in wanted))

    report = walk.see()
    running = {name: workload["running"] for name, workload in report["workloads"].items()}
    assert len(running) == len(wanted)
    assert set(running.values()) == {1}, running
