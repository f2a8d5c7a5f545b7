"""The cost of a stack's nodes is what the table of its pools says, for stacks of any kind.

One is counted from what the program registers, the other planned from what the stack declares.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

from eks_gpushare.program.costs.stack import cost_of
from eks_gpushare.program.pools import pools_of
from eks_gpushare.program.preview import locate, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.components.conftest import Run

    from eks_gpushare.program.costs.stack import StackCost

ROOT = Path(__file__).parents[2]
REGION = "us-west-2"
SEEDS = sampled(range(500), 80)
STACKS = sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))
CR = "cr-0123456789abcdef{}"
OF_NODES = ("gpuNodes", "reservedInstances")
SCHEDULED = "scheduledNodes"
HOURS_PER_WEEK = 168


def of_nodes(cost: StackCost) -> tuple[float | None, float | None]:
    found = [item.usd_per_hour() for item in cost.items if item.kind in OF_NODES]
    return added([f.at_desired for f in found]), added([f.at_max for f in found])


def added(dollars: list[float | None]) -> float | None:
    return None if None in dollars else round(sum(each or 0 for each in dollars), 3)


def compare(pools: Mapping[str, Any], cost: StackCost) -> None:
    """Both at the desired size; at most, where a pool is scaled, of which it tells that."""
    made = {name: pool for name, pool in pools.items() if pool["provisioner"] != "existing"}
    assert added([scheduled_of(pool) for pool in made.values()]) == pytest.approx(
        added([item.usd_per_hour().at_desired for item in cost.items if item.kind == SCHEDULED]),
        abs=0.002,
    )
    desired, most = of_nodes(cost)

    assert added([desired_of(pool) for pool in made.values()]) == pytest.approx(desired, abs=0.002)
    if all("scaling" in pool for pool in made.values()) and "reserved" not in kinds(cost):
        assert added([most_of(pool) for pool in made.values()]) == pytest.approx(most, abs=0.002)


def kinds(cost: StackCost) -> str:
    return " ".join(item.kind for item in cost.items)


def desired_of(pool: Mapping[str, Any]) -> float | None:
    given = pool["usdPerHour"]
    if given is not None:
        return given["atDesired"]  # type: ignore[no-any-return]  # as JSON has it
    kept = pool["scaling"]["min"]["nodes"] if "scaling" in pool else pool["nodes"]["desired"]
    return None if max(kept, pool["nodes"]["desired"]) else 0.0


def scheduled_of(pool: Mapping[str, Any]) -> float | None:
    """On average over the hours of a week."""
    found = pool.get("scaling", {}).get("scheduled")
    if found is None:
        return 0.0
    if found["usdPerHour"] is None or pool["usdPerHour"] is None:
        return None
    return found["usdPerHour"] * found["hoursPerWeek"] / HOURS_PER_WEEK  # type: ignore[no-any-return]  # as JSON has it


def most_of(pool: Mapping[str, Any]) -> float | None:
    most = pool["scaling"]["max"]
    if most is None or pool["usdPerHour"] is None:
        return 0.0 if most is not None and not most["nodes"] else None
    return most["usdPerHour"]  # type: ignore[no-any-return]  # as JSON has it


def random_pool(random: Random, index: int) -> dict[str, Any]:
    karpenter = random.random() < 0.6
    alike = (["g5.xlarge"], ["g6.12xlarge"], ["g6.xlarge", "g6.2xlarge"])
    types = random.choice((*alike, ["g5.xlarge", "g5.48xlarge"]) if karpenter else alike)
    most = random.choice((1, 2, 5, 40))
    pool: dict[str, Any] = {
        "instance_types": types,
        "sharing": {"mode": "timeSlicing", "replicas": random.choice((2, 4, 10))},
        "nodes": {"min": 0, "desired": random.randint(0, most), "max": most},
    }
    if karpenter:
        pool |= {"provisioner": "karpenter", "ami_version": "1.35.8-20260930"}
        pool["nodes"] = {"max": most} if random.random() < 0.9 else {}
        if random.random() < 0.2:
            pool["nodes"] = {"desired": random.randint(0, most), "max": most}
            pool["karpenter"] = {"static": True}
    elif random.random() < 0.5:
        pool["scaled_by"] = "autoscaler"
    static = "static" in pool.get("karpenter", {})
    scaled = (karpenter and not static) or "scaled_by" in pool
    if scaled and random.random() < 0.5:
        pool["warm"] = {random.choice(("nodes", "shares")): random.randint(1, most)}
        if random.random() < 0.4:
            end = f"0 {random.randint(8, 23)} * * 1-5"
            pool["warm"]["schedule"] = [{"start": "0 7 * * 1-5", "end": end}]
    way = random.choice(("onDemand", "onDemand", "spot", "reserved"))
    if way != "onDemand":
        pool["capacity_type"] = way
    if way == "reserved":
        pool |= {"instance_types": types[:1], "zones": ["us-west-2a"]}
        pool["reservation"] = {"id": CR.format(index)}
        if random.random() < 0.5:
            pool["reservation"]["instances"] = most + random.randint(0, 3)
    return pool


@pytest.mark.parametrize("seed", SEEDS)
def test_the_nodes_of_random_stacks(environment: Callable[..., Run], seed: int) -> None:
    random = Random(seed)  # noqa: S311  (no secrets)
    pools = {f"pool{i}": random_pool(random, i) for i in range(random.randint(1, 3))}
    more: dict[str, Any] = {}
    if any("scaled_by" in pool for pool in pools.values()):
        more["cluster_autoscaler"] = {}
    if any("schedule" in pool.get("warm", {}) for pool in pools.values()):
        more["keda"] = {}
    recording = environment(pools=pools, **more).recording

    compare(pools_of(recording, REGION), cost_of(recording, REGION))


@pytest.mark.parametrize("stack", sampled(STACKS, 3))
def test_the_nodes_of_every_stack(stack: str) -> None:
    previewed = preview(*locate(stack, str(ROOT)))
    assert previewed.cost is not None

    compare(previewed.pools, previewed.cost)
