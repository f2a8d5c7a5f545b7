"""Tenants that are to be kept apart, on nodes whose GPUs pods share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    GPU,
    PRESENT,
    codes,
    namespace,
    nodes,
    operator,
    plugin,
    pods,
    problems,
    said,
)

from eks_gpushare.inventory.edges import tenants
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

CLOSED = (
    "nvidia-ctk config --in-place --set "
    "accept-nvidia-visible-devices-envvar-when-unprivileged=false\n"
)
MOUNTS = {"flags": {"plugin": {"deviceListStrategy": "volume-mounts"}}}


def tenant(name: str, isolation: str = "isolated") -> Item:
    return namespace(
        name, **{"eks-gpushare.io__tenant": name, "eks-gpushare.io__isolation": isolation}
    )


def in_space(name: str, **spec: Any) -> Item:
    return pods({GPU: 1}, namespace=name, name=f"of-{name}", **spec)


def shared(kind: str = "timeSlicing", **more: Any) -> Item:
    block = {"resources": [{"name": GPU, "replicas": 4}]}
    document = {"sharing": {kind: block}, **MOUNTS, **more}
    return plugin({"gfd": {"enabled": True}, "config": {"map": {"default": document}}})


def pool(name: str = "gpu", **more: Any) -> Item:
    more.setdefault("user_data", CLOSED)
    return nodes(name=name, labels={**PRESENT, "pool": name}, **more)


A, B = tenant("a"), tenant("b")
PODS = (in_space("a"), in_space("b"))
EACH = (
    in_space("a", nodeSelector={"pool": "a"}),
    in_space("b", nodeSelector={"pool": "b"}),
)

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "by time slicing": ("GPU1160", (pool(), shared(), A, B, *PODS)),
    "by MPS": ("GPU1160", (pool(), shared("mps"), A, B, *PODS)),
    "one of the two is marked": ("GPU1160", (pool(), shared(), A, tenant("b", ""), *PODS)),
    "beside pods of no tenant": ("GPU1160", (pool(), shared(), A, namespace("b"), *PODS)),
    "beside pods of a namespace that is not there": ("GPU1160", (pool(), shared(), A, *PODS)),
    "pools that both may use": (
        "GPU1160",
        (pool("a"), pool("b"), shared(), A, B, EACH[0], in_space("b")),
    ),
    "the variable is ignored and is the way": (
        "GPU1162",
        (pool(), shared(flags={})),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "a pool for each": (pool("a"), pool("b"), shared(), A, B, *EACH),
    "whole GPUs": (pool(), plugin({"deviceListStrategy": "volume-mounts"}), A, B, *PODS),
    "nobody is marked": (pool(), shared(), tenant("a", ""), tenant("b", ""), *PODS),
    "one tenant": (pool(), shared(), A, in_space("a"), pods({GPU: 1}, namespace="a")),
    "two namespaces of one tenant": (
        pool(),
        shared(),
        A,
        namespace(
            "b", **{"eks-gpushare.io__tenant": "a", "eks-gpushare.io__isolation": "isolated"}
        ),
        *PODS,
    ),
    "no labels": (pool(user_data=""), shared(), namespace("a"), namespace("b"), *PODS),
    "no pods": (pool(), shared(), A, B),
    "the operator uses CDI": (
        nodes(labels=PRESENT, user_data=CLOSED),
        operator(),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_gpu_that_tenants_would_share_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


def test_whose_a_namespace_is_may_not_be_known() -> None:
    unknown = replace(namespace("b"), labels=UNKNOWN)

    assert codes(pool(), shared(), A, unknown, *PODS) == ["?GPU1160"]
    assert codes(pool(), shared(), A, *PODS, complete=False) == []
    assert codes(pool(), shared(), A, namespace("b"), *PODS, complete=False) == ["GPU1160"]


def test_pods_of_nobody_are_named_as_such() -> None:
    for config, how in ((shared(), "time slicing"), (shared("mps"), "MPS")):
        (found,) = problems(pool(), config, A, namespace("b"), *PODS)
        assert f"the Deployment of-b of no tenant may share a GPU by {how} on" in found.message


@pytest.mark.parametrize("case", RIGHT)
def test_tenants_that_are_apart_are_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"user_data": ""}, ["GPU1161"]),
        ({"user_data": "#!/bin/bash\n"}, ["GPU1161"]),
        ({"user_data": CLOSED.replace("false", "true")}, ["GPU1161"]),
        ({"user_data": CLOSED}, []),
        ({"user_data": "accept-nvidia-visible-devices-envvar-when-unprivileged = false"}, []),
        ({"user_data": UNKNOWN}, ["?GPU1161"]),
        ({"user_data": "", "ami": "ami-0123456789abcdef0"}, ["?GPU1161"]),
        ({"user_data": "", "ami": "AL2023_x86_64_NVIDIA"}, ["GPU1161"]),
    ],
)
def test_the_leak_is_found_where_tenants_share_nodes(more: Any, found: list[str]) -> None:
    two = (tenant("a", ""), tenant("b", ""))

    assert codes(pool(**more), shared(), *two, *PODS) == found
    assert codes(pool(**more), shared(), two[0], in_space("a")) == []


def test_the_leak_is_worse_beside_an_isolated_tenant() -> None:
    items = (pool(user_data=""), shared(), A, tenant("b", ""), *PODS)
    found = {each.rule: each.severity for each in problems(*items)}

    assert found == {tenants.SHARED_BY_TENANTS: None, tenants.LEAK: "error"}


def test_bottlerocket_is_closed_by_itself() -> None:
    time_slicing = (
        "[settings.kubelet-device-plugins.nvidia]\n"
        'device-sharing-strategy = "time-slicing"\n'
        "[settings.kubelet-device-plugins.nvidia.time-slicing]\n"
        "replicas = 4\nrename-by-default = false\n"
    )
    opened = (
        f"{time_slicing}[settings.nvidia-container-runtime]\n"
        "visible-devices-envvar-when-unprivileged = true\n"
    )
    two = (tenant("a", ""), tenant("b", ""), *PODS)

    assert codes(pool(ami="BOTTLEROCKET_x86_64_NVIDIA", user_data=time_slicing), *two) == []
    assert codes(pool(ami="BOTTLEROCKET_x86_64_NVIDIA", user_data=opened), *two) == ["GPU1161"]


@pytest.mark.parametrize(
    ("config", "how"),
    [(shared(), "by time slicing"), (shared("mps"), "by MPS")],
)
def test_the_message_says_how_tenants_would_share(config: Item, how: str) -> None:
    found = problems(pool(), config, A, tenant("b", ""), *PODS)

    assert [each.message for each in found] == [
        (
            "The Deployment of-a of the tenant a, which is marked isolated, and the Deployment "
            f"of-b of the tenant b may share a GPU {how} on the node group gpu."
        )
    ]


def test_a_plan_says_that_tenants_share_and_not_how() -> None:
    planned = nodes(
        labels={**PRESENT, "pool": "gpu"},
        user_data=CLOSED,
        advertised={"g5.xlarge": {f"{GPU}.shared": 4}},
    )
    users = [
        pods(
            {f"{GPU}.shared": 1},
            namespace=each,
            name=f"of-{each}",
            tolerations=[{"operator": "Exists"}],
        )
        for each in "ab"
    ]
    found = said(tenants.apart, planned, A, B, *users)

    assert [code for code, _ in found] == ["GPU1160", "GPU1160"]
    assert all("by time slicing" in message for _, message in found)


def test_the_leak_is_said_once_of_nodes_and_of_those_that_tenants_share() -> None:
    two = (tenant("a", ""), tenant("b", ""))
    both = nodes("g5.xlarge", "g5.2xlarge", labels={**PRESENT, "pool": "gpu"})
    found = said(tenants.apart, both, shared(), *two, *PODS)

    assert [code for code, _ in found] == ["GPU1161"]
    assert found[0][1].startswith("Pods of the tenants a, b may be on the node group gpu, where")
    (leak,) = problems(both, shared(), *two, *PODS, of=[tenants.LEAK])
    assert leak.severity is None  # nobody is to be kept apart
    apart = (pool("a", user_data=""), pool("b", user_data=""), shared(), *two, *EACH)
    assert said(tenants.apart, *apart) == []
    third = (pool("c", user_data=""), *apart)
    assert said(tenants.apart, *third) == []


def test_the_way_is_judged_once_of_nodes() -> None:
    both = nodes("g5.xlarge", "g5.2xlarge", labels=PRESENT, user_data=CLOSED)

    assert len(said(tenants.apart, both, shared(flags={}))) == 1
    assert said(tenants.apart, nodes(labels=PRESENT, user_data=UNKNOWN), shared(flags={})) == []
    assert said(tenants.apart, nodes(labels=UNKNOWN, user_data=CLOSED), shared(flags={})) == []
