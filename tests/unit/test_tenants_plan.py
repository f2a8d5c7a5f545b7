"""Contracts of tenants in shares: whole, exact or rounded up, and none of what is not there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog
from eks_gpushare.catalog.mig import mig_models
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.tenants import Tenant, TenantAmount
from eks_gpushare.sharing.plan import PoolPlan, plan_pool
from eks_gpushare.sharing.tenant_objects import guards, hard
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import (
    AmountError,
    contracts,
    counted,
    kinds,
    memory_gib,
    met,
    sure_nodes,
    tenants_json,
)

SHARINGS: dict[str, dict[str, Any]] = {
    "p4d.24xlarge": {"mode": "mig", "layout": "all-balanced"},
    "g6.12xlarge": {"mode": "timeSlicing", "replicas": 8, "rename": True},
    "g6.2xlarge": {"mode": "mps", "replicas": 4},
    "g6.48xlarge": {"mode": "exclusive"},
}


def plan(instance_type: str = "p4d.24xlarge", **more: Any) -> PoolPlan:
    given = {
        "instanceTypes": [instance_type],
        "nodes": {"min": 1, "desired": 1, "max": 2},
        "sharing": SHARINGS[instance_type],
        **more,
    }
    return plan_pool("pool", Pool.model_validate(given), Catalog(), "us-east-1")


def amount(**keys: Any) -> TenantAmount:
    return TenantAmount.model_validate(keys)


@pytest.mark.parametrize(
    ("instance_type", "keys", "counts"),
    [
        ("p4d.24xlarge", {"gpuMemoryGiB": 80}, {"1g.5gb": 4, "2g.10gb": 2, "3g.20gb": 2}),
        ("p4d.24xlarge", {"gpuMemoryGiB": 240}, {"1g.5gb": 12, "2g.10gb": 6, "3g.20gb": 6}),
        ("p4d.24xlarge", {"gpus": 0.5}, None),
        ("p4d.24xlarge", {"gpus": 2}, {"1g.5gb": 4, "2g.10gb": 2, "3g.20gb": 2}),
        ("p4d.24xlarge", {"sharesOf": {"mig-3g.20gb": 2}}, {"3g.20gb": 2}),
        ("g6.12xlarge", {"gpus": 0.5}, {"gpu.shared": 4}),
        ("g6.12xlarge", {"shares": 5}, {"gpu.shared": 5}),
        ("g6.2xlarge", {"gpuMemoryGiB": 12}, {"gpu": 2}),
        ("g6.48xlarge", {"gpuMemoryGiB": 24}, {"gpu": 2}),
    ],
)
def test_an_amount_in_shares(
    instance_type: str, keys: dict[str, Any], counts: dict[str, int] | None
) -> None:
    if counts is None:
        with pytest.raises(AmountError):
            counted(amount(**keys), plan(instance_type))
        return
    found = counted(amount(**keys), plan(instance_type)).counts

    short = {name.removeprefix("nvidia.com/").removeprefix("mig-"): n for name, n in found.items()}
    assert short == counts


@pytest.mark.parametrize(
    ("instance_type", "keys", "message", "fix"),
    [
        ("p4d.24xlarge", {"shares": 4}, "3 kinds of shares", "sharesOf: {mig-1g.5gb: 1, "),
        ("p4d.24xlarge", {"sharesOf": {"mig-7g.40gb": 1}}, "has no mig-7g.40gb", "mig-3g.20gb"),
        ("p4d.24xlarge", {"sharesOf": {}}, "No kind", "mig-1g.5gb"),
        ("p4d.24xlarge", {"sharesOf": {"mig-1g.5gb": 0}}, "0 of mig-1g.5gb", "1 or more"),
        ("p4d.24xlarge", {"gpus": 0.5}, "0.5 GPUs of pool", "Use 1: multiples of 1 "),
        ("g6.12xlarge", {"gpus": 0.3}, "0.3 GPUs", "Use 0.25 or 0.375"),
        ("g6.12xlarge", {"gpuMemoryGiB": 8}, "divides no memory", "shares or gpus"),
    ],
)
def test_what_shares_do_not_make_is_said_with_what_they_do(
    instance_type: str, keys: dict[str, Any], message: str, fix: str
) -> None:
    with pytest.raises(AmountError) as raised:
        counted(amount(**keys), plan(instance_type))

    assert message in raised.value.message
    assert fix in raised.value.fix
    assert raised.value.key in keys


@given(st.integers(1, 4000))
def test_memory_becomes_at_least_what_was_asked_for_and_less_than_a_share_of_each_more(
    gib: int,
) -> None:
    pool = plan()
    sizes = {name: memory_gib(pool, name) or 0 for name in kinds(pool)}
    found = counted(amount(gpuMemoryGiB=gib), pool)

    got = sum(count * sizes[name] for name, count in found.counts.items())
    assert gib <= got < gib + sum(sizes.values())
    assert (found.rounded is None) == (got == gib)


@given(st.integers(1, 400), st.sampled_from(sorted(SHARINGS)))
def test_gpus_that_are_taken_are_exact(eighths: int, instance_type: str) -> None:
    pool, gpus = plan(instance_type), eighths / 8
    try:
        counts = counted(amount(gpus=gpus), pool).counts
    except AmountError as error:
        near = error.fix.split(":")[0].removeprefix("Use ").split(" or ")
        for other in near:  # what is advised is taken
            assert counted(amount(gpus=float(other)), pool)
        return
    on_a_node, of_it = kinds(pool), pool.gpus_per_node[instance_type]
    assert {name: Fraction(n) for name, n in counts.items()} == {
        name: Fraction(n, of_it) * Fraction(eighths, 8) for name, n in on_a_node.items()
    }


def test_memory_is_counted_as_profiles_are_named() -> None:
    known = [
        (profile.memory_mib, profile.memory_gb)
        for model in mig_models().values()
        for profile in model.profiles.values()
        if profile.memory_mib is not None
    ]

    assert known
    assert [pair for pair in known if -(-pair[0] // 1024) > pair[1]] == []


def tenants(**given: dict[str, Any]) -> dict[str, Tenant]:
    return {
        name: Tenant.model_validate({"namespaces": [name], **contract})
        for name, contract in given.items()
    }


def test_a_quota_names_the_contract_and_0_of_all_else() -> None:
    plans = {"slices": plan(), "notebooks": plan("g6.12xlarge")}
    given = tenants(a={"pools": {"slices": {"guaranteed": {"gpus": 2}}}})
    every = contracts(given, plans)

    assert hard("a", given["a"], every, plans) == {
        "requests.nvidia.com/gpu": "0",
        "requests.nvidia.com/gpu.shared": "0",
        "requests.nvidia.com/mig-1g.5gb": "4",
        "requests.nvidia.com/mig-2g.10gb": "2",
        "requests.nvidia.com/mig-3g.20gb": "2",
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0",
        "mig.nvidia.com.deviceclass.resource.k8s.io/devices": "0",
        "vfio.gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0",
    }
    assert set(guards("a", "a", given["a"], every, plans)) == {
        *("quota", "priority", "network", "platform"),
    }


def test_tenants_meet_where_pods_take_turns_and_nowhere_else() -> None:
    plans = {"slices": plan(), "notebooks": plan("g6.12xlarge")}
    both = {
        "pools": {
            "slices": {"guaranteed": {"gpus": 1}},
            "notebooks": {"guaranteed": {"shares": 2}},
        }
    }
    given = tenants(a=both, b=both, c={"pools": {"slices": {"guaranteed": {"gpus": 1}}}})
    every = contracts(given, plans)

    assert {(one.tenant, one.pool): met(one, every, plans) for one in every} == {
        ("a", "slices"): [],
        ("a", "notebooks"): ["b"],
        ("b", "slices"): [],
        ("b", "notebooks"): ["a"],
        ("c", "slices"): [],
    }


def test_what_a_tenant_costs_is_its_part_of_the_nodes() -> None:
    plans = {"slices": plan()}
    part = {"pools": {"slices": {"guaranteed": {"gpus": 4}}}}
    given = tenants(a=part, b=part)
    found = tenants_json(given, contracts(given, plans), plans)
    node = plans["slices"].cost

    assert node is not None
    total = sum(tenant["usdPerHour"] or 0 for tenant in found.values())  # type: ignore[misc]
    assert total == pytest.approx(node.per_node["p4d.24xlarge"], abs=0.01)


def test_nodes_that_an_autoscaler_may_take_away_are_not_sure() -> None:
    scaled: dict[str, Any] = {"scaledBy": "autoscaler", "nodes": {"min": 0, "desired": 1, "max": 2}}

    assert sure_nodes(plan()) == 1
    assert sure_nodes(plan(**scaled)) == 0


def queued(**more: Any) -> dict[str, Tenant]:
    part = {"guaranteed": {"gpuMemoryGiB": 80}, "maximum": {"gpuMemoryGiB": 120}}
    return tenants(
        research={"queue": True, "pools": {"slices": part}, **more},
        vision={"queue": True, "pools": {"slices": {"guaranteed": {"gpuMemoryGiB": 200}}}},
        other={"pools": {"slices": {"guaranteed": {"sharesOf": {"mig-1g.5gb": 1}}}}},
    )


def test_a_queue_counts_devices_and_gib_of_any_mix_and_lends_what_nobody_is_sure_of() -> None:
    one = plan(nodes={"min": 1, "desired": 1, "max": 1})
    plans = {"slices": replace(one, name="slices")}
    given = queued()
    spec = queues(given, contracts(given, plans), plans)

    assert spec is not None
    assert set(spec.tenants) == {"research", "vision"}
    quota = spec.tenants["research"].pools["slices"]
    assert {name.rpartition("-")[2]: n for name, n in quota.maximum.items()} == {
        "1g.5gb": 24,
        "2g.10gb": 12,
        "3g.20gb": 6,
    }
    assert quota.maximum_gib == 120
    pool = spec.pools["slices"]
    assert pool.advertised["nvidia.com/mig-1g.5gb"] == 16 - 1  # one is of a tenant without a queue
    assert pool.gib["nvidia.com/mig-3g.20gb"] == 20
    assert queues({}, (), plans) is None


def test_a_quota_leaves_what_a_queue_counts() -> None:
    plans = {"slices": plan()}
    given = queued()
    every = contracts(given, plans)

    found = hard("research", given["research"], every, plans)
    assert not [name for name in found if "/mig-" in name]


def test_a_pool_without_a_limit_lends_nothing_that_may_come() -> None:
    endless = plan_pool(
        "notebooks",
        Pool.model_validate(
            {
                "provisioner": "karpenter",
                "instanceTypes": ["g6.12xlarge"],
                "karpenter": {"limits": {"cpu": "1000"}},
                "sharing": SHARINGS["g6.12xlarge"],
            }
        ),
        Catalog(),
        "us-east-1",
    )
    given = tenants(a={"queue": True, "pools": {"notebooks": {"guaranteed": {"shares": 4}}}})
    plans = {"notebooks": endless}
    spec = queues(given, contracts(given, plans), plans)

    assert spec is not None
    assert spec.pools["notebooks"].advertised == {}
    assert spec.pools["notebooks"].gib == {}
