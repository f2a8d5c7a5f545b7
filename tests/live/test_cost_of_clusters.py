"""Costs of random clusters, from their API objects on: sums are what AWS lists for the nodes.

The other side is reckoned from the list of prices alone, node by node.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.held_shares import held_shares
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.sharing.cost_table import together
from eks_gpushare.sharing.stack_cost import stack_cost

if TYPE_CHECKING:
    from eks_gpushare.lint.stack_side import Stack

ROOT = Path(__file__).parents[2]
LISTED = json.loads(
    (ROOT / "components/eks_gpushare/catalog/data/instances.json").read_text(encoding="utf-8")
)["types"]
REGION = "us-east-1"
POOLS: dict[str, dict[str, Any]] = {
    "whole": {"instanceTypes": ["g6.48xlarge"], "sharing": {"mode": "exclusive"}},
    "turns": {
        "instanceTypes": ["g6.xlarge", "g6.2xlarge", "g6.4xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 7, "rename": True},
        "provisioner": "existing",
    },
    "clients": {"instanceTypes": ["g6.12xlarge"], "sharing": {"mode": "mps", "replicas": 3}},
    "even": {
        "instanceTypes": ["p4d.24xlarge"],
        "sharing": {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 3}},
    },
    "mixed": {
        "instanceTypes": ["p4d.24xlarge"],
        "sharing": {
            "mode": "mig",
            "layout": [{"gpus": [0, 1, 2, 3, 4], "devices": {"3g.20gb": 1, "1g.5gb": 3}}],
        },
    },
}
SPACES = ("team-a", "team-b", "team-c", "ci", "default")
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.at_length) for seed in range(3, 100))]
CLUSTERS = 10
"""Of each seed; a stack is read once."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    declared = yaml.safe_load((ROOT / "stacks/Pulumi.tenants.yaml").read_text(encoding="utf-8"))
    environment = declared["config"]["eks-gpushare:environment"]
    sizes = {"nodes": {"min": 0, "desired": 1, "max": 30}}
    environment["pools"] = {name: {**sizes, **pool} for name, pool in POOLS.items()}
    for pool in environment["pools"].values():
        if "provisioner" not in pool:
            pool["amiVersion"] = "1.35.8-20260930"
    environment["tenants"] = {
        "a": {"namespaces": ["team-a"], "pools": {"turns": {"guaranteed": {"shares": 20}}}},
        "b": {
            "namespaces": ["team-b"],
            "pools": {"mixed": {"guaranteed": {"sharesOf": {"mig-3g.20gb": 6, "mig-1g.5gb": 4}}}},
        },
        "c": {"namespaces": ["team-c"], "pools": {"clients": {"guaranteed": {"shares": 30}}}},
    }
    file = tmp_path_factory.mktemp("stack") / "Pulumi.random.yaml"
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")
    found = read_stack(file)
    assert found.errors == ()
    return found


def cluster(stack: Stack, random: Random) -> tuple[ClusterObjects, Decimal]:
    """Nodes with pods on them, as an API server tells of them, and what the nodes cost by list."""
    nodes: list[dict[str, Any]] = []
    pods: list[dict[str, Any]] = []
    paid = Decimal(0)
    for pool, plan in stack.plans.items():
        for at in range(random.randrange(5)):
            instance_type = random.choice(plan.pool.instance_types)
            paid += Decimal(str(LISTED[instance_type]["prices"][REGION]))
            name = f"{pool}-{at}"
            # Some lose devices, and some advertise nothing yet.
            shares = {
                resource: max(0, count - random.choice([0, 0, 0, 1, count]))
                for resource, count in plan.per_node[instance_type].items()
            }
            labels = {
                "eks-gpushare/pool": pool,
                "node.kubernetes.io/instance-type": instance_type,
                "topology.kubernetes.io/region": REGION,
            }
            told = {resource: str(count) for resource, count in shares.items()}
            nodes.append(
                {
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels},
                    "status": {"allocatable": told, "capacity": told},
                }
            )
            pods += (
                pod(f"{name}-{n}", name, random.choice([*shares]), random)
                for n in range(random.randrange(14))
            )
    kinds = {kind: in_shape(kind, given)[0] for kind, given in (("Node", nodes), ("Pod", pods))}
    return ClusterObjects("random", datetime.now(tz=UTC), kinds), paid


def pod(name: str, node: str, resource: str, random: Random) -> dict[str, Any]:
    limits = {"limits": {resource: str(random.choice([1, 1, 1, 2]))}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": random.choice(SPACES)},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": limits}]},
        "status": {"phase": random.choice(["Running", "Running", "Pending", "Succeeded"])},
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_the_listed_prices_of_the_nodes(stack: Stack, seed: int) -> None:
    random = Random(seed)  # noqa: S311  (it hides nothing)
    environment = stack.environment
    assert environment is not None
    for _ in range(CLUSTERS):
        objects, paid = cluster(stack, random)
        if not objects.of("Node"):
            continue
        held = [held_shares(objects, stack)]
        for split in ("share", "memory"):
            table = stack_cost(
                environment, stack.plans, stack.catalog, REGION, split=split, held=held
            )
            found = table.total().as_json()
            assert found == {
                "usdPerHour": float(round(paid, 4)),
                "usdPerMonth": float(round(paid * 730, 2)),
            }
            for group in ("tenant", "pool", "namespace"):
                rows = [together(uses) for uses in table.by(group).values()]
                assert sum(row.month for row in rows) == table.total().month
