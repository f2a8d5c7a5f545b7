"""What nodes with MIG advertise, what a device costs, and what the device plugin is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.sharing.device_plugin_config import document
from eks_gpushare.sharing.plan import PoolPlan, plan_pool
from eks_gpushare.validation.parse import parse

REGION = "us-east-1"
P4D = "p4d.24xlarge"
BALANCED = {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
HALVES = [
    {"gpus": [0, 1, 2, 3], "devices": {"1g.5gb": 7}},
    {"gpus": [4, 5, 6], "devices": {"3g.20gb": 2}},
]


def plan(layout: object, instance: str = P4D, **keys: Any) -> PoolPlan:
    provisioner = keys.pop("provisioner", "managedNodeGroup")
    sharing = {"mode": "mig", "layout": layout, **keys}
    raw = {"instanceTypes": [instance], "sharing": sharing, "provisioner": provisioner}
    cluster = {"name": "demo", "version": "1.35"}
    parsed = parse({"cluster": cluster, "pools": {"gpu": raw}})
    assert parsed.findings == ()
    assert parsed.environment is not None
    return plan_pool("gpu", parsed.environment.pools["gpu"], Catalog(), REGION)


def node(layout: object, instance: str = P4D, **keys: Any) -> dict[str, int]:
    return dict(plan(layout, instance, **keys).per_node[instance])


def shared(**keys: object) -> dict[str, Any]:
    return {"timeSlicing": {"replicas": 4, **keys}}


@pytest.mark.parametrize(
    ("layout", "more", "advertised"),
    [
        ("all-1g.5gb", {}, {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 56}),
        ({"2g.10gb": 3}, {}, {"nvidia.com/gpu": 0, "nvidia.com/mig-2g.10gb": 24}),
        ({"3g.20gb": 2}, {}, {"nvidia.com/gpu": 0, "nvidia.com/mig-3g.20gb": 16}),
        (
            "all-balanced",
            {},
            {
                "nvidia.com/gpu": 0,
                "nvidia.com/mig-1g.5gb": 16,
                "nvidia.com/mig-2g.10gb": 8,
                "nvidia.com/mig-3g.20gb": 8,
            },
        ),
        (
            HALVES,
            {},
            {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 28, "nvidia.com/mig-3g.20gb": 6},
        ),
        ("all-1g.5gb", {"strategy": "single"}, {"nvidia.com/gpu": 56}),
        ("all-1g.5gb", shared(), {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 224}),
        (
            "all-1g.5gb",
            shared(rename=True),
            {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb.shared": 224},
        ),
        ("all-1g.5gb", {"strategy": "single", **shared()}, {"nvidia.com/gpu": 224}),
        (
            "all-1g.5gb",
            {"strategy": "single", **shared(rename=True)},
            {"nvidia.com/gpu.shared": 224},
        ),
        (
            {"1g.5gb+me": 1, "1g.5gb": 6},
            {},
            {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 48, "nvidia.com/mig-1g.5gb.me": 8},
        ),
    ],
)
def test_what_a_node_of_eight_a100_advertises(
    layout: object, more: dict[str, Any], advertised: dict[str, int]
) -> None:
    assert node(layout, **more) == advertised


def test_shares_on_karpenter_are_renamed_by_default() -> None:
    assert node("all-1g.5gb", provisioner="karpenter", **shared()) == {
        "nvidia.com/gpu": 0,
        "nvidia.com/mig-1g.5gb.shared": 224,
    }


def test_whole_gpus_beside_shared_devices_are_not_shared() -> None:
    assert node(HALVES, **shared())["nvidia.com/gpu"] == 1


def test_the_request_is_for_the_most_numerous_device() -> None:
    assert plan("all-balanced").request == {"nvidia.com/mig-1g.5gb": 1}


def test_every_kind_of_share_is_listed_with_its_memory_and_price() -> None:
    price = gpu_instance_types()[P4D].price(REGION)
    assert price is not None
    gpu = price / 8

    kinds = plan("all-balanced").as_json()["shares"]

    assert [(kind["resource"], kind["perNode"]) for kind in kinds] == [
        ("nvidia.com/mig-1g.5gb", {P4D: 16}),
        ("nvidia.com/mig-2g.10gb", {P4D: 8}),
        ("nvidia.com/mig-3g.20gb", {P4D: 8}),
    ]
    assert [kind["usdPerHour"] for kind in kinds] == pytest.approx(
        [gpu / 7, gpu * 2 / 7, gpu * 3 / 7], abs=1e-6
    )
    assert [kind["memoryMiB"] for kind in kinds] == [4864, 9856, 19968]


def test_slices_that_stay_unused_are_paid_for_by_the_devices() -> None:
    price = gpu_instance_types()[P4D].price(REGION)
    assert price is not None
    cost = plan({"3g.20gb": 2}).cost

    assert cost is not None
    assert cost.per_share == pytest.approx(price / 16, abs=1e-6)


@given(
    st.sampled_from(["all-1g.5gb", "all-2g.10gb", "all-3g.20gb", "all-balanced", HALVES]),
    st.integers(2, 9),
    st.booleans(),
)
def test_the_shares_of_a_node_cost_what_the_node_costs(
    layout: object,
    replicas: int,
    rename: bool,
) -> None:
    found = plan(layout, timeSlicing={"replicas": replicas, "rename": rename})
    assert found.cost is not None
    total = sum(
        share.per_node * found.cost.by_share[share.resource][P4D] for share in found.shares[P4D]
    )

    assert total == pytest.approx(gpu_instance_types()[P4D].price(REGION), rel=1e-3)


MIXED: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": "mixed"}}
SINGLE: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": "single"}}


def sliced(*names: str, rename: bool = False) -> dict[str, Any]:
    return {
        "sharing": {
            "timeSlicing": {
                "renameByDefault": rename,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": name, "replicas": 4} for name in names],
            }
        }
    }


@pytest.mark.parametrize(
    ("layout", "more", "written"),
    [
        ("all-1g.5gb", {}, MIXED),
        ("all-1g.5gb", {"strategy": "single"}, SINGLE),
        ("all-1g.5gb", shared(), MIXED | sliced("nvidia.com/mig-1g.5gb")),
        ("all-1g.5gb", {"strategy": "single", **shared()}, SINGLE | sliced("nvidia.com/gpu")),
        (
            "all-balanced",
            shared(rename=True),
            MIXED
            | sliced(
                "nvidia.com/mig-1g.5gb",
                "nvidia.com/mig-2g.10gb",
                "nvidia.com/mig-3g.20gb",
                rename=True,
            ),
        ),
    ],
)
def test_what_the_device_plugin_is_told(
    layout: object, more: dict[str, Any], written: dict[str, Any]
) -> None:
    found = document(plan(layout, **more).pool, Catalog())

    assert found == written
