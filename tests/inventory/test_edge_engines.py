"""Device plugins, DRA drivers and host engines of DCGM: one of each on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    PRESENT,
    chart,
    codes,
    daemon_set,
    nodes,
    operator,
    plugin,
    problems,
    said,
)

from eks_gpushare.inventory.edges import engines
from eks_gpushare.inventory.launches import launch_of
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item, Provisioner

ANY = [{"operator": "Exists"}]
POOL = nodes(labels=PRESENT)
STATIC = daemon_set("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", tolerations=ANY)
REMOTE = [{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": "localhost:5555"}]


def dra(**values: Any) -> Item:
    return chart("nvidia-dra-driver-gpu", {"gpuResourcesEnabledOverride": True, **values})


def exporter(**values: Any) -> Item:
    return chart("dcgm-exporter", values)


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "two releases": ("GPU1185", (POOL, plugin(), plugin(name="b"))),
    "a release and a manifest": ("GPU1185", (POOL, plugin(), STATIC)),
    "the chart and the operator": ("GPU1185", (POOL, plugin(), operator())),
    "Bottlerocket and the chart": (
        "GPU1185",
        (nodes(labels=PRESENT, ami="BOTTLEROCKET_x86_64_NVIDIA"), plugin()),
    ),
    "Bottlerocket and the operator": (
        "GPU1185",
        (nodes(ami="BOTTLEROCKET_x86_64_NVIDIA"), operator()),
    ),
    "Auto Mode and a manifest": ("GPU1185", (nodes(provisioner="autoMode"), STATIC)),
    "a DRA driver": ("GPU1186", (POOL, plugin(), dra())),
    "the operator and an exporter": ("GPU1187", (POOL, operator(), exporter())),
    "two exporters": ("GPU1187", (POOL, plugin(), exporter(), exporter())),
    "the operator and EKS's agent": (
        "GPU1187",
        (POOL, operator(), chart("eks-node-monitoring-agent")),
    ),
    "the operator's engine and an exporter": (
        "GPU1187",
        (POOL, operator({"dcgm": {"enabled": True}}), exporter()),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "one for each pool": (
        nodes(labels={**PRESENT, "pool": "a"}, name="a"),
        nodes(labels={**PRESENT, "pool": "b"}, name="b"),
        plugin({"nodeSelector": {"pool": "a"}}),
        plugin({"nodeSelector": {"pool": "b"}}, name="b"),
    ),
    "a taint keeps the chart off Bottlerocket": (
        nodes(
            labels=PRESENT,
            ami="BOTTLEROCKET_x86_64_NVIDIA",
            taints=[("own-plugin", "", "NoSchedule")],
        ),
        plugin(),
    ),
    "a label keeps the operator off": (
        nodes(ami="BOTTLEROCKET_x86_64_NVIDIA", labels={"nvidia.com/gpu.deploy.operands": "false"}),
        operator(),
    ),
    "Bottlerocket's is off": (
        nodes(
            labels=PRESENT,
            ami="BOTTLEROCKET_x86_64_NVIDIA",
            user_data="[settings.kubelet-device-plugins.nvidia]\nenabled = false\n",
        ),
        plugin(),
    ),
    "the operator's plugin is off": (
        POOL,
        plugin(),
        operator({"devicePlugin": {"enabled": False}, "dcgmExporter": {"enabled": False}}),
    ),
    "a DRA driver for compute domains": (
        POOL,
        plugin(),
        dra(resources={"gpus": {"enabled": False}}),
    ),
    "the exporter of the operator is off": (
        POOL,
        operator({"dcgmExporter": {"enabled": False}}),
        exporter(),
    ),
    "an exporter uses the other's engine": (POOL, operator(), exporter(extraEnv=REMOTE)),
    "the operator's uses that of EKS's agent": (
        POOL,
        operator({"dcgmExporter": {"env": REMOTE}}),
        chart("eks-node-monitoring-agent"),
    ),
    "one exporter": (POOL, plugin(), exporter()),
}


@pytest.mark.parametrize("case", BROKEN)
def test_two_where_there_must_be_one_are_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_one_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_the_message_names_both() -> None:
    (found,) = problems(POOL, plugin(), STATIC)

    assert found.message == (
        "The device plugin of the Release nvidia-device-plugin and the device plugin of the "
        "DaemonSet daemon are both for the node group gpu."
    )


@pytest.mark.parametrize(
    ("replicas", "found"), [(22, ["GPU1190"]), (21, []), (2, [])]
)  # a g4dn.xlarge runs 29 pods, of which 8 are its own
def test_no_more_shares_than_pods(replicas: int, found: list[str]) -> None:
    shared = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}
    sliced = plugin({"config": {"map": {"default": {"sharing": shared}}}})

    assert codes(nodes("g4dn.xlarge", labels=PRESENT), sliced) == found


@pytest.mark.parametrize(
    ("most", "told", "said"),
    [
        (10, "", "runs 10 pods as its node class says"),
        (10, "maxPods: 12", "runs 10 pods as its node class says"),
        (12, "maxPods: 10", "runs 10 pods as its user data says"),
        (58, "", None),
        (None, "", None),
    ],
)
def test_no_more_shares_than_a_node_class_lets_pods_be(
    most: int | None, told: str, said: str | None
) -> None:
    shared = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 8}]}}
    sliced = plugin({"config": {"map": {"default": {"sharing": shared}}}})
    found = problems(nodes("g4dn.xlarge", labels=PRESENT, user_data=told, max_pods=most), sliced)

    assert [said in each.message for each in found if said] == ([True] if said else [])
    assert ["prefix delegation" in each.fix for each in found] == ([False] if said else [])


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("maxPods: 10", ["GPU1190"]),
        ("flags: [--max-pods=10]", ["GPU1190"]),
        ("max-pods = 10", ["GPU1190"]),
        ("maxPods: 58", []),
        ("maxPodsExpression: a", []),
    ],
)
def test_no_more_shares_than_user_data_lets_pods_be(told: str, found: list[str]) -> None:
    shared = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 8}]}}
    sliced = plugin({"config": {"map": {"default": {"sharing": shared}}}})

    assert codes(nodes("g4dn.xlarge", labels=PRESENT, user_data=told), sliced) == found


@pytest.mark.parametrize("provisioner", ["managed", "karpenter"])
@pytest.mark.parametrize(
    ("interfaces", "replicas", "found"),
    [
        ([], 8, []),
        ([{"networkCardIndex": 0, "interfaceType": "efa-only"}], 8, ["GPU1190"]),
        ([{"network_card_index": 0, "interface_type": "efa-only"}], 8, ["GPU1190"]),
        ([{"InterfaceType": "efa-only"}], 5, []),
        ([{"InterfaceType": "efa-only"}], 6, ["GPU1190"]),
        ([{"networkCardIndex": 1, "interfaceType": "efa-only"}], 8, []),
        ([{"networkCardIndex": 0, "interfaceType": "interface"}], 8, []),
        ([{"networkCardIndex": 0, "interfaceType": UNKNOWN}], 8, []),
    ],
)  # a p5.48xlarge has 8 GPUs, and 100 pods or 51 by Karpenter's ENILimitedPods
def test_pods_lack_the_addresses_of_interfaces_for_efa_alone(
    provisioner: Provisioner, interfaces: list[dict[str, Any]], replicas: int, found: list[str]
) -> None:
    launch = launch_of(Source("a"), "a", {"networkInterfaces": interfaces})
    shared = {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}}
    sliced = plugin({"config": {"map": {"default": {"sharing": shared}}}})
    pool = nodes("p5.48xlarge", labels=PRESENT, launch=launch, provisioner=provisioner)

    assert [code for code in codes(pool, sliced) if code == "GPU1190"] == found


@pytest.mark.parametrize(
    ("pool", "whose"),
    [
        (nodes(labels=PRESENT, provisioner="autoMode"), "EKS Auto Mode"),
        (nodes(labels=PRESENT, ami="BOTTLEROCKET_x86_64_NVIDIA"), "Bottlerocket"),
    ],
)
def test_whose_plugin_is_there_already_is_said(pool: Item, whose: str) -> None:
    (found,) = problems(pool, plugin({"tolerations": ANY}), of=[engines.TWO_PLUGINS])

    assert f", where {whose} has a device plugin of its own." in found.message


def test_user_data_that_cannot_be_read_may_switch_off_the_plugin_of_bottlerocket() -> None:
    pool = nodes(labels=PRESENT, ami="BOTTLEROCKET_x86_64_NVIDIA", user_data=UNKNOWN)
    what = "the user data of the node group gpu, by which it may switch off its plugin"

    assert said(engines.plugins, pool, plugin({"tolerations": ANY})) == [("?GPU1185", what)]
    assert said(engines.plugins, pool) == []


def test_of_three_engines_two_are_named() -> None:
    exporters = [chart("dcgm-exporter", name=each) for each in "abc"]
    (found,) = problems(POOL, plugin(), *exporters, of=[engines.TWO_ENGINES])

    assert found.message == (
        "The DCGM exporter of the Release b and the DCGM exporter of the Release a each run a host "
        "engine of DCGM on the nodes with GPUs."
    )


KEPT = {"nodeSelector": {"dra": "on"}}


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ((operator(), dra()), 1),
        ((plugin(), dra()), 1),
        ((operator({"devicePlugin": {"enabled": False}}), dra()), 0),
        ((operator(), dra(resources={"gpus": {"enabled": False}})), 0),
        ((operator(), dra(kubeletPlugin=KEPT)), 0),
        ((operator(), dra(kubeletPlugin={"affinity": {"nodeAffinity": {}}})), 0),
        ((operator(), dra(kubeletPlugin=UNKNOWN)), 0),
        ((plugin(KEPT), dra()), 0),
        ((operator(),), 0),
        ((dra(),), 0),
    ],
)
def test_a_driver_and_a_plugin_are_told_without_nodes(items: tuple[Item, ...], found: int) -> None:
    given = problems(*items, complete=False, of=[engines.PLUGIN_AND_DRA])

    assert len(given) == found
    assert all(each.severity == "warning" for each in given)
