"""Rules about the device plugin of Elastic Fabric Adapters, and what is derived for its chart."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.sharing.efa import EFA, efa_plugin_values, pools_with_efa
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.validation.parse import parse

POOL = {"instanceTypes": ["p4d.24xlarge"], "efa": True, "zones": ["us-west-2a"]}
EXISTING = {
    "cluster": {"existing": {"name": "demo"}, "name": None, "version": None, "admins": None},
    "network": None,
}
CHART = {"efaDevicePlugin": {"values": {"image": {"tag": "v0.5.20"}}}}


def stack(code: str, pool: dict[str, Any], **blocks: Any) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": pool}, **blocks}, code)


@pytest.mark.parametrize("code", ["GPU430", "GPU431", "GPU432", "GPU711", "GPU712", "GPU714"])
def test_a_new_cluster_with_efa_has_all_of_it(code: str) -> None:
    assert stack(code, POOL) == []
    assert stack(code, POOL, charts=CHART) == []


@pytest.mark.parametrize(
    ("values", "at", "place", "role"),
    [
        (
            {"supportedInstanceLabels": {"values": ["p4d.24xlarge"]}},
            "supportedInstanceLabels.values",
            "supportedInstanceLabels",
            "sends the plugin to the nodes of the pools",
        ),
        ({"tolerations": []}, "tolerations", "tolerations", "holds the taints of the pools"),
        (
            {"nodeSelector": {"a": "b"}},
            "nodeSelector.a",
            "nodeSelector",
            "would narrow the nodes that the plugin reaches",
        ),
    ],
)
def test_values_that_undo_what_is_derived_are_refused(
    values: dict[str, Any], at: str, place: str, role: str
) -> None:
    charts = {"efaDevicePlugin": {"values": values}}

    assert stack("GPU430", POOL, charts=charts) == [
        (
            f"charts.efaDevicePlugin.values.{at}",
            f"{place} is derived from the pools: it {role}.",
        )
    ]


UNREAD = "priorityClassName is no value of aws-efa-k8s-device-plugin 0.5.30: no template reads it."


def test_a_value_that_the_chart_does_not_read_is_refused() -> None:
    charts = {"efaDevicePlugin": {"values": {"priorityClassName": "x"}}}

    assert stack("GPU711", POOL, charts=charts) == [
        ("charts.efaDevicePlugin.values.priorityClassName", UNREAD)
    ]


@pytest.mark.parametrize("stack_block", [{}, {"efaDevicePlugin": False}])
def test_a_chart_that_is_not_installed_needs_no_values(stack_block: dict[str, Any]) -> None:
    pool = POOL if stack_block else {**POOL, "efa": False}

    assert stack("GPU714", pool, charts=CHART, gpuStack=stack_block) == [
        ("charts.efaDevicePlugin", "No pool has efa for which this stack installs the chart.")
    ]


@pytest.mark.parametrize(("wanted", "said"), [(None, True), (True, False), (False, False)])
def test_a_cluster_that_was_there_may_have_the_plugin(*, wanted: bool | None, said: bool) -> None:
    block = {} if wanted is None else {"gpuStack": {"efaDevicePlugin": wanted}}
    pool = {key: value for key, value in POOL.items() if key != "zones"}

    assert bool(stack("GPU431", pool, **EXISTING, **block)) is said
    assert stack("GPU431", {**pool, "efa": False}, **EXISTING, **block) == []


def test_in_a_new_cluster_nobody_else_installs_it() -> None:
    block = {"gpuStack": {"efaDevicePlugin": False}}

    assert stack("GPU432", POOL, **block) == [
        (
            "gpuStack.efaDevicePlugin",
            "The cluster is new, and nothing hands out the EFA interfaces of gpu.",
        )
    ]
    assert stack("GPU432", {**POOL, "efa": False}, **block) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"efa": False},
        {"amiFamily": "al2023"},
        {
            "amiFamily": "custom",
            "customAmi": {
                "id": "ami-0123456789abcdef0",
                "family": "bottlerocket",
                "driverIncluded": True,
            },
        },
    ],
)
def test_other_pools_need_no_release_of_bottlerocket_with_efa(keys: dict[str, Any]) -> None:
    pool = {**POOL, "amiFamily": "bottlerocket", "amiVersion": "1.27.1", **keys}

    assert stack("GPU433", pool) == []


@pytest.mark.parametrize(("release", "old"), [("1.27.1", True), ("1.28.0", False), (None, False)])
def test_bottlerocket_has_efa_from_a_release_on(release: str | None, *, old: bool) -> None:
    pool = {**POOL, "amiFamily": "bottlerocket", "amiVersion": release}

    assert stack("GPU433", pool) == (
        [
            (
                "pools.gpu.amiVersion",
                "Bottlerocket 1.27.1 does not know EFA, which came with 1.28.0.",
            )
        ]
        if old
        else []
    )


def test_the_chart_reaches_exactly_the_pools_with_efa_and_tolerates_their_taints() -> None:
    taint = {"key": "dedicated", "value": "ml", "effect": "NoExecute"}
    parsed = parse(
        {
            "cluster": {"name": "demo", "version": "1.35"},
            "pools": {
                "b": {**POOL, "sharing": {"mode": "exclusive"}, "taints": [taint]},
                "a": {**POOL, "sharing": {"mode": "exclusive"}},
                "c": {**POOL, "sharing": {"mode": "exclusive"}, "efa": False},
            },
        }
    ).environment
    assert parsed is not None
    pools = pools_with_efa(parsed)
    taints = [taint for pool in pools.values() for taint in pool.taints]

    assert efa_plugin_values(pools, taints, {"resources": {}}) == {
        "supportedInstanceLabels": {"keys": ["eks-gpushare/pool"], "values": ["a", "b"]},
        "tolerations": [
            {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"},
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "resources": {},
    }


@pytest.mark.parametrize(
    "name", sorted(name for name, t in gpu_instance_types().items() if t.efa_interfaces)
)
def test_nodes_advertise_as_many_interfaces_as_their_type_has(name: str) -> None:
    given = {**POOL, "instanceTypes": [name], "sharing": {"mode": "exclusive"}}
    environment = {"cluster": {"name": "demo", "version": "1.35"}, "pools": {"gpu": given}}
    parsed = parse(environment).environment
    assert parsed is not None
    plan = plan_pool("gpu", parsed.pools["gpu"], Catalog())

    assert plan.per_node[name][EFA] == gpu_instance_types()[name].efa_interfaces
    assert EFA not in plan.request
    assert not any(share.resource == EFA for share in plan.shares[name])
