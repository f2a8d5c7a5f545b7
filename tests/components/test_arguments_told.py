"""What a Python program is told of an argument at the wrong place or in another shape."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pulumi
import pytest

from eks_gpushare import DevicePlugin, GpuPool
from eks_gpushare.testing import Mocks

if TYPE_CHECKING:
    from eks_gpushare import GpuPoolArgs

ARGS: dict[str, Any] = {
    "pool": "inference",
    "cluster_name": "shared",
    "cluster_subnet_ids": ["subnet-0a1b2c3d"],
    "instance_types": ["g6.xlarge"],
    "sharing": {"mode": "timeSlicing", "replicas": 2},
}


@pytest.fixture(autouse=True)
def mocks() -> None:
    """Mocks want a loop, which a test before may have taken away; what they begin stays in it."""
    try:
        asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:
        asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.set_mocks(Mocks())


def told(component: type, args: dict[str, Any]) -> list[str]:
    with pytest.raises(pulumi.InputPropertiesError) as wrong:
        component("wrong", args)
    return [line.strip() for line in str(wrong.value).splitlines()[1:]]


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in ARGS.items() if name != key}


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            without("instance_types") | {"instanceTypes": ["g6.xlarge"]},
            (
                "instance_types: In Python the keys of arguments are in snake_case. "
                "Write instance_types. [GPU003]"
            ),
        ),
        (
            ARGS | {"sharing": ARGS["sharing"] | {"failRequestsGreaterThanOne": True}},
            (
                "sharing.fail_requests_greater_than_one: In Python the keys of arguments are in "
                "snake_case. Write fail_requests_greater_than_one. [GPU003]"
            ),
        ),
        (
            ARGS | {"sharing": {"mode": "timeSlicing"}, "replicas": 2},
            (
                "replicas: replicas is not an argument. "
                'It stands under sharing: write "sharing": {"replicas": ...}. [GPU003]'
            ),
        ),
        (
            ARGS | {"nodes": 3},
            (
                "nodes: 3 is a number; a mapping is expected. "
                'Write "nodes": {"min": 0, "desired": 1, "max": 2}. [GPU005]'
            ),
        ),
    ],
)
def test_a_mistake_in_a_pool_is_one_line(args: dict[str, Any], line: str) -> None:
    assert told(GpuPool, args) == [line]


def test_a_component_in_place_of_what_it_hands_over() -> None:
    pool = GpuPool("inference", cast("GpuPoolArgs", ARGS))
    is_meant = "GpuPool is a component; its output served is meant."

    assert told(DevicePlugin, {"served": [pool]}) == [
        f"served[0]: {is_meant} Write pool.served. [GPU005]"
    ]
    assert told(DevicePlugin, {"served": pool}) == [
        f"served: {is_meant} Write pool.served, in a list: [pool.served]. [GPU005]"
    ]
    (line,) = told(DevicePlugin, {"served": pool.served})
    assert line.endswith("Put it into a list: [pool.served]. [GPU005]")
