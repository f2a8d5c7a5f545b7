"""Contracts at random over random layouts: what the rules accept, the objects hold.

That pods then get what these numbers say is shown by the real Kueue in
`tests/lab/walkthroughs/test_walkthrough_random_queues.py`.
"""

from __future__ import annotations

import random
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from finding_examples import base

from eks_gpushare.catalog import Catalog
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.facts.isolation import keeps_apart
from eks_gpushare.rules import closed_runtime, tenant_isolation, tenants
from eks_gpushare.rules.context import Context
from eks_gpushare.rules.registry import Scope, checks_in
from eks_gpushare.sharing.capacity import most_pods
from eks_gpushare.sharing.closed_runtime import closed_pools
from eks_gpushare.sharing.kueue import kueue_objects, pool_shares, unguaranteed
from eks_gpushare.sharing.plan import plan_environment
from eks_gpushare.sharing.tenant_objects import admission, hard
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import contracts, kinds, meetings
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract

COUNTED = pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.at_length)])
PROFILES = ("1g.5gb", "2g.10gb", "3g.20gb")
KINDS = [f"mig-{profile}" for profile in PROFILES]
LAYOUTS: list[Any] = [
    "all-balanced",
    "all-1g.5gb",
    {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
    {"1g.5gb": 1, "3g.20gb": 1},
    [{"gpus": [0, 1, 2], "devices": {"1g.5gb": 7}}, {"gpus": [3], "devices": {"3g.20gb": 2}}],
]


def pool(draw: random.Random) -> dict[str, Any]:
    """A pool of one of the ways to share; its name of shares may be that of another's."""
    more = {"rename": draw.random() < 0.7}
    sharing, kind = draw.choice(
        [
            (
                {"mode": "timeSlicing", "replicas": draw.randint(2, 10), **more},
                "g6.xlarge",
            ),
            ({"mode": "mps", "replicas": draw.randint(2, 10), **more}, "g6.12xlarge"),
            ({"mode": "exclusive"}, "g6.48xlarge"),
            ({"mode": "mig", "layout": draw.choice(LAYOUTS)}, "p4d.24xlarge"),
            (
                {
                    "mode": "mig",
                    "layout": draw.choice(LAYOUTS),
                    "timeSlicing": {"replicas": 2, **more},
                },
                "p4d.24xlarge",
            ),
        ]
    )
    nodes = draw.randint(1, 4)
    return {
        "instanceTypes": [kind],
        "nodes": {"min": draw.randint(0, nodes), "desired": nodes, "max": nodes},
        "sharing": sharing,
    }


def amount(draw: random.Random, of: dict[str, Any]) -> dict[str, Any]:
    """An amount of a pool, mostly in a unit that its shares make."""
    divides = of["sharing"]["mode"] == "mig"
    units = ["sharesOf", "gpuMemoryGiB"] if divides else ["shares", "gpus"]
    unit = draw.choice(units if draw.random() < 0.9 else [*units, "shares", "gpus", "gpuMemoryGiB"])
    value: Any = {
        "shares": draw.randint(1, 8),
        "sharesOf": {draw.choice(KINDS): draw.randint(1, 4)},
        "gpus": draw.choice([0.5, 1, 1, 2]),
        "gpuMemoryGiB": draw.choice([5, 40, 80, 120]),
    }[unit]
    return {unit: value}


def tenant(
    draw: random.Random, name: str, pools: dict[str, Any], queues: float = 0.5, loans: float = 0.3
) -> dict[str, Any]:
    has_queue = draw.random() < queues
    given: dict[str, Any] = {}
    for chosen in draw.sample(sorted(pools), draw.randint(1, len(pools))):
        given[chosen] = {"guaranteed": amount(draw, pools[chosen])}
        if has_queue and draw.random() < loans:
            given[chosen]["maximum"] = amount(draw, pools[chosen])
    return {
        "namespaces": [f"team-{name}"],
        "isolation": draw.choice(["none", "none", "none", "memory", "fault"]),
        "queue": has_queue,
        "priority": draw.choice(["low", "normal", "high"]) if has_queue else "normal",
        "pools": given,
    }


def environment(seed: int) -> Environment:
    draw = random.Random(seed)  # noqa: S311  (an example, not a secret)
    pools = {f"p{n}": pool(draw) for n in range(draw.randint(1, 3))}
    named = [f"t{n}" for n in range(draw.randint(1, 4))]
    return parsed(pools, {name: tenant(draw, name, pools) for name in named})


def parsed(pools: dict[str, Any], tenants: dict[str, Any]) -> Environment:
    merged = merge_values(base(), {"pools": {"gpu": None, **pools}, "tenants": tenants})
    merged["pools"].pop("gpu", None)
    found = parse(merged).environment
    assert found is not None
    return found


class Accepted:
    """An environment that the rules about tenants find no error in."""

    def __init__(self, given: Environment) -> None:
        self.environment = given
        self.tenants = given.tenants or {}
        self.plans: Mapping[str, PoolPlan] = plan_environment(given, Catalog(), "us-east-1")
        self.every: tuple[PoolContract, ...] = contracts(self.tenants, self.plans)
        self.queued = queues(self.tenants, self.every, self.plans)


def is_wrong(given: Environment) -> bool:
    ctx = Context(given, Catalog(), "us-east-1", date(2026, 11, 27))
    for check in checks_in(tenants, tenant_isolation, closed_runtime):
        calls = given.pools.items() if check.scope is Scope.POOL else [()]
        if any(f.severity == "error" for args in calls for f in check(ctx, *args)):
            return True
    return False


@cache
def accepted(count: int) -> tuple[Accepted, ...]:
    every = (environment(seed) for seed in range(count))
    return tuple(Accepted(given) for given in every if not is_wrong(given))


@COUNTED
def test_some_are_accepted_and_some_are_not(count: int) -> None:
    """Else the others would prove nothing."""
    assert count * 0.1 < len(accepted(count)) < count * 0.9
    assert any(len(each.tenants) > 2 for each in accepted(count))
    assert any(each.queued is not None and len(each.queued.tenants) > 1 for each in accepted(count))


@COUNTED
def test_guarantees_together_are_never_above_what_a_pool_can_have(count: int) -> None:
    for each in accepted(count):
        for name, plan in each.plans.items():
            for resource in kinds(plan):
                most = most_pods(plan, resource)
                own = [c.guaranteed.get(resource, 0) for c in each.every if c.pool == name]

                assert most is None or sum(own) <= most


@COUNTED
def test_quotas_allow_the_contract_and_nothing_else(count: int) -> None:
    for each in accepted(count):
        names = {resource for plan in each.plans.values() for resource in kinds(plan)}
        for name, tenant in each.tenants.items():
            own = {r: n for c in each.every if c.tenant == name for r, n in c.maximum.items()}
            allowed = hard(name, tenant, each.every, each.plans)
            for resource in names:
                counted = allowed.get(f"requests.{resource}")

                if tenant.queue and resource in own:
                    assert counted is None
                else:
                    assert counted == str(own.get(resource, 0))


def totals(each: Accepted) -> dict[tuple[str, str], tuple[int, int]]:
    """By flavor and resource what queues are sure of together, and what the cohort has besides."""
    assert each.queued is not None
    shares = pool_shares(each.queued.pools, each.queued.tenants)
    found: dict[tuple[str, str], list[int]] = {}
    for made in kueue_objects(shares, unguaranteed(each.queued.pools, shares)):
        if made["kind"] not in {"ClusterQueue", "Cohort"}:
            continue
        at = 0 if made["kind"] == "ClusterQueue" else 1
        for group in made["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for quota in flavor["resources"]:
                    both = found.setdefault((flavor["name"], quota["name"]), [0, 0])
                    both[at] += quota["nominalQuota"]
    return {key: (sure, free) for key, (sure, free) in found.items()}


@COUNTED
def test_admission_lets_through_what_the_contract_has_and_nothing_else(count: int) -> None:
    """What is borrowed too, of kinds of which nothing is sure."""
    for each in accepted(count):
        for made in admission(each.tenants, each.every, each.plans, "1.35"):
            if made["kind"] != "ConfigMap":
                continue
            name = made["metadata"]["name"]
            most = [c.maximum for c in each.every if c.tenant == name]
            allowed = {resource for counts in most for resource, n in counts.items() if n}

            assert {*made["data"]["resources"].split(",")} == allowed


@COUNTED
def test_what_queues_lend_is_there_so_that_every_guarantee_comes_back(count: int) -> None:
    """What is lent is never more than the pool has, less what others are sure of by quotas."""
    looked = 0
    for each in accepted(count):
        if each.queued is None:
            continue
        for (flavor, resource), (sure, free) in totals(each).items():
            if resource not in each.plans[flavor].at(1):
                continue  # the ceiling in GiB
            most = most_pods(each.plans[flavor], resource)
            by_quota = sum(
                c.guaranteed.get(resource, 0)
                for c in each.every
                if c.pool == flavor and not each.tenants[c.tenant].queue
            )
            looked += 1

            assert most is None or sure + free + by_quota <= most
    assert looked


@COUNTED
def test_no_queue_lets_a_tenant_above_its_maximum(count: int) -> None:
    for each in accepted(count):
        if each.queued is None:
            continue
        shares = pool_shares(each.queued.pools, each.queued.tenants)
        by_contract = {(c.tenant, c.pool): c for c in each.every}
        for made in kueue_objects(shares, unguaranteed(each.queued.pools, shares)):
            if made["kind"] != "ClusterQueue":
                continue
            for flavor in made["spec"]["resourceGroups"][0]["flavors"]:
                contract = by_contract[made["metadata"]["name"], flavor["name"]]
                for quota in flavor["resources"]:
                    most = contract.maximum.get(quota["name"], 0)
                    if quota["name"].startswith("nvidia.com/"):
                        assert quota["nominalQuota"] + quota["borrowingLimit"] == most


@COUNTED
def test_nobody_meets_another_in_a_way_that_its_class_excludes(count: int) -> None:
    met = 0
    for each in accepted(count):
        for name, others in meetings(each.every, each.plans).items():
            for turns in others.values():
                met += 1

                assert keeps_apart(each.tenants[name].isolation, turns)
    assert met


@COUNTED
@pytest.mark.parametrize("isolation", ["memory", "fault"])
def test_pools_of_those_who_are_to_be_apart_give_gpus_on_request_only(
    isolation: str, count: int
) -> None:
    for each in accepted(count):
        closed = closed_pools(each.environment)
        for tenant in each.tenants.values():
            if tenant.isolation == isolation:
                assert all(closed[name].gpus_on_request_only for name in tenant.pools)
