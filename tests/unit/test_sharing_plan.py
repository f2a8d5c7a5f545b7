"""What nodes will advertise, be labelled with and cost, by the way their GPUs are shared."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.catalog import Catalog, gpu_instance_types
from eks_gpushare.facts.shares import SYSTEM_PODS
from eks_gpushare.sharing.device_plugin_config import (
    config_map_data,
    document,
    render,
)
from eks_gpushare.sharing.nodes import allocatable, sizes
from eks_gpushare.sharing.plan import PoolPlan, plan_environment, plan_pool
from eks_gpushare.sharing.resources import advertised
from eks_gpushare.sharing.subnets import MOST_ZONES, cut, zone_subnets
from eks_gpushare.validation.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool

GOLDEN = Path(__file__).parents[1] / "golden"
REGION = "us-west-2"


def environment_of(**pools: dict[str, Any]) -> Environment:
    cluster = {"name": "demo", "version": "1.35"}
    parsed = parse({"cluster": cluster, "pools": pools})
    assert parsed.findings == ()
    assert parsed.environment is not None
    return parsed.environment


def pool_of(sharing: dict[str, Any], instance: str = "p3.8xlarge", **keys: object) -> Pool:
    pool = {"instanceTypes": [instance], "sharing": sharing, **keys}
    return environment_of(gpu=pool).pools["gpu"]


def plan(sharing: dict[str, Any], instance: str = "p3.8xlarge", **keys: object) -> PoolPlan:
    return plan_pool("gpu", pool_of(sharing, instance, **keys), Catalog(), REGION)


EXCLUSIVE: dict[str, Any] = {"mode": "exclusive"}

SHARINGS = st.one_of(
    st.just(EXCLUSIVE),
    st.fixed_dictionaries(
        {"mode": st.sampled_from(["timeSlicing", "mps"]), "replicas": st.integers(2, 48)},
        optional={"rename": st.booleans(), "failRequestsGreaterThanOne": st.booleans()},
    ),
)
POOLS = st.fixed_dictionaries(
    {
        "instanceTypes": st.lists(
            st.sampled_from(sorted(gpu_instance_types())), min_size=1, max_size=3, unique=True
        ),
        "sharing": SHARINGS,
    },
    optional={
        "provisioner": st.sampled_from(["managedNodeGroup", "karpenter", "existing"]),
        "nodes": st.fixed_dictionaries({"max": st.integers(1, 50)}),
        "capacityType": st.sampled_from(["onDemand", "spot"]),
    },
)


@pytest.mark.parametrize(
    ("instance", "sharing", "advertises"),
    [
        ("p3.8xlarge", EXCLUSIVE, {"nvidia.com/gpu": 4}),
        ("p3.8xlarge", {"mode": "timeSlicing", "replicas": 10}, {"nvidia.com/gpu": 40}),
        ("p3.8xlarge", {"mode": "mps", "replicas": 4}, {"nvidia.com/gpu": 16}),
        (
            "p3.8xlarge",
            {"mode": "timeSlicing", "replicas": 10, "rename": True},
            {"nvidia.com/gpu.shared": 40},
        ),
        (
            "g4dn.xlarge",
            {"mode": "mps", "replicas": 3, "rename": True},
            {"nvidia.com/gpu.shared": 3},
        ),
        ("p4d.24xlarge", EXCLUSIVE, {"nvidia.com/gpu": 8}),
        ("g6f.xlarge", {"mode": "timeSlicing", "replicas": 2}, {"nvidia.com/gpu": 2}),
    ],
)
def test_what_a_node_advertises(
    instance: str, sharing: dict[str, Any], advertises: dict[str, int]
) -> None:
    assert plan(sharing, instance).per_node == {instance: advertises}


@pytest.mark.parametrize("mode", ["timeSlicing", "mps"])
def test_shares_on_karpenter_pools_are_renamed_by_default(mode: str) -> None:
    found = plan({"mode": mode, "replicas": 2}, provisioner="karpenter", nodes={"max": 3})

    assert found.request == {"nvidia.com/gpu.shared": 1}


@pytest.mark.parametrize("provisioner", ["managedNodeGroup", "existing"])
def test_shares_on_other_pools_keep_their_name_by_default(provisioner: str) -> None:
    found = plan({"mode": "timeSlicing", "replicas": 2}, provisioner=provisioner)

    assert found.request == {"nvidia.com/gpu": 1}


def test_a_whole_gpu_on_karpenter_keeps_its_name() -> None:
    found = plan(EXCLUSIVE, provisioner="karpenter", nodes={"max": 3})

    assert found.request == {"nvidia.com/gpu": 1}


def test_a_type_that_nobody_knows_is_a_key_error() -> None:
    with pytest.raises(KeyError, match=r"g9\.xlarge"):
        plan(EXCLUSIVE, "g9.xlarge")


def test_labels_of_the_nodes() -> None:
    found = plan(EXCLUSIVE, labels={"eks-node": "gpu"})

    assert found.labels == {
        "eks-gpushare/pool": "gpu",
        "nvidia.com/device-plugin.config": "gpu",
        "nvidia.com/gpu.present": "true",
        "eks-node": "gpu",
    }


def test_pods_select_on_a_label_that_the_nodes_have() -> None:
    found = plan(EXCLUSIVE)

    assert found.node_selector.items() <= found.labels.items()


def test_pods_tolerate_the_default_taint() -> None:
    assert plan(EXCLUSIVE).tolerations == (
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
    )


def test_a_taint_without_a_value_is_tolerated_by_its_key() -> None:
    found = plan(EXCLUSIVE, taints=[{"key": "gpu", "effect": "NoExecute"}])

    assert found.tolerations == ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"},)


def test_memory_of_a_share() -> None:
    [share] = plan({"mode": "mps", "replicas": 10}).shares["p3.8xlarge"]

    assert share.memory_mib == 1638


def test_cost_of_a_share_is_the_price_of_a_node_over_its_shares() -> None:
    price = gpu_instance_types()["g5.12xlarge"].price(REGION)
    assert price is not None
    found = plan({"mode": "timeSlicing", "replicas": 5}, "g5.12xlarge", nodes={"desired": 3})

    assert found.cost is not None
    assert found.cost.at_desired == round(price * 3, 4)
    assert found.cost.per_share == round(price / 20, 6)


@pytest.mark.parametrize("capacity", ["spot", "capacityBlock"])
def test_a_price_that_changes_is_unknown(capacity: str) -> None:
    assert plan(EXCLUSIVE, "p5.48xlarge", capacityType=capacity).cost is None


def test_without_a_region_a_cost_is_unknown() -> None:
    assert plan_pool("gpu", pool_of(EXCLUSIVE), Catalog()).cost is None


def test_an_unknown_price_is_not_zero() -> None:
    free = replace(gpu_instance_types()["g5.xlarge"], prices={REGION: None})
    found = plan_pool("gpu", pool_of(EXCLUSIVE, "g5.xlarge"), Catalog({"g5.xlarge": free}), REGION)

    assert found.as_json()["usdPerHour"] is None


def test_where_types_differ_the_smallest_count_is_sure() -> None:
    pool = environment_of(
        gpu={"instanceTypes": ["g5.xlarge", "g5.12xlarge"], "sharing": EXCLUSIVE}
    ).pools["gpu"]

    assert plan_pool("gpu", pool, Catalog()).at(3) == {"nvidia.com/gpu": 3}


def test_json_of_a_pool_is_that_of_the_contract() -> None:
    sharing = {"mode": "timeSlicing", "replicas": 10}
    pool = pool_of(sharing, nodes={"min": 1, "desired": 1, "max": 2})

    assert plan_pool("gpu", pool, Catalog()).as_json() == {
        "provisioner": "managedNodeGroup",
        "instanceTypes": ["p3.8xlarge"],
        "nodes": {"min": 1, "desired": 1, "max": 2},
        "gpusPerNode": {"p3.8xlarge": 4},
        "perNode": {"p3.8xlarge": {"nvidia.com/gpu": 40}},
        "atDesired": {"nvidia.com/gpu": 40},
        "atMax": {"nvidia.com/gpu": 80},
        "usdPerHour": None,
        "request": {"nvidia.com/gpu": 1},
        "shares": [
            {
                "resource": "nvidia.com/gpu",
                "perNode": {"p3.8xlarge": 40},
                "memoryMiB": 1638,
                "usdPerHour": None,
            }
        ],
        "nodeSelector": {"eks-gpushare/pool": "gpu"},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
        ],
    }


@given(POOLS, st.integers(0, 1000))
def test_nothing_that_is_advertised_is_negative(raw: dict[str, Any], nodes: int) -> None:
    found = plan_environment(environment_of(gpu=raw), Catalog())["gpu"]
    counts = [count for node in found.per_node.values() for count in node.values()]

    assert min([*counts, *found.at(nodes).values()]) >= 0


@given(POOLS)
def test_a_share_has_one_name_only(raw: dict[str, Any]) -> None:
    found = plan_environment(environment_of(gpu=raw), Catalog())["gpu"]

    for node in found.per_node.values():
        assert sum(count > 0 for count in node.values()) == 1


@given(POOLS)
def test_shares_are_gpus_times_replicas(raw: dict[str, Any]) -> None:
    found = plan_environment(environment_of(gpu=raw), Catalog())["gpu"]
    [request] = found.request

    for name, node in found.per_node.items():
        gpus = gpu_instance_types()[name].gpu_count
        assert node[request] == gpus * raw["sharing"].get("replicas", 1)


@given(POOLS, st.integers(0, 500), st.integers(0, 500))
def test_what_nodes_advertise_grows_with_their_number(
    raw: dict[str, Any], some: int, more: int
) -> None:
    found = plan_environment(environment_of(gpu=raw), Catalog())["gpu"]
    one, other, both = found.at(some), found.at(more), found.at(some + more)

    assert both == {name: one[name] + other[name] for name in both}


def test_the_planner_agrees_with_itself_on_every_type() -> None:
    pool = pool_of({"mode": "timeSlicing", "replicas": 2})

    for instance in gpu_instance_types().values():
        assert advertised(pool, instance, Catalog()) == {"nvidia.com/gpu": 2 * instance.gpu_count}


PLUGIN_KEYS: dict[str, Any] = {
    "version": str,
    "flags": {"migStrategy": str},
    "sharing": {
        mode: {
            "renameByDefault": bool,
            "failRequestsGreaterThanOne": bool,
            "resources": [{"name": str, "replicas": int}],
        }
        for mode in ("timeSlicing", "mps")
    },
}
"""Keys of the device plugin's configuration that this project writes, with their types; a subset
of api/config/v1 of v0.20.0, which drops unknown ones without a word."""


def unknown(value: Any, known: Any, at: str = "") -> list[str]:
    """Places of a document that the list above does not have."""
    if isinstance(known, dict) and isinstance(value, dict):
        return [
            fault
            for key, inner in value.items()
            for fault in (
                unknown(inner, known[key], f"{at}.{key}") if key in known else [f"{at}.{key}"]
            )
        ]
    if isinstance(known, list) and isinstance(value, list):
        return [fault for inner in value for fault in unknown(inner, known[0], f"{at}[]")]
    return [] if isinstance(known, type) and type(value) is known else [at]


@given(POOLS)
def test_a_document_holds_only_what_the_device_plugin_knows(raw: dict[str, Any]) -> None:
    assert unknown(document(environment_of(gpu=raw).pools["gpu"], Catalog()), PLUGIN_KEYS) == []


@given(POOLS)
def test_a_document_reads_back_as_it_was_written(raw: dict[str, Any]) -> None:
    written = document(environment_of(gpu=raw).pools["gpu"], Catalog())

    assert yaml.safe_load(render(written)) == written


@given(POOLS)
def test_never_both_ways_of_sharing(raw: dict[str, Any]) -> None:
    written = document(environment_of(gpu=raw).pools["gpu"], Catalog())

    assert len(written.get("sharing", {})) == (0 if raw["sharing"] == EXCLUSIVE else 1)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), POOLS, min_size=1, max_size=4))
def test_the_config_map_has_a_key_for_each_pool_and_a_default(
    raw: dict[str, dict[str, Any]],
) -> None:
    data = config_map_data(environment_of(**raw).pools, Catalog())

    assert set(data) == {"default", *raw}


def test_the_order_of_pools_does_not_change_the_config_map() -> None:
    one = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
    other = {"instanceTypes": ["g6.xlarge"], "sharing": EXCLUSIVE}

    assert list(config_map_data(environment_of(b=one, a=other).pools, Catalog()).items()) == list(
        config_map_data(environment_of(a=other, b=one).pools, Catalog()).items()
    )


DOCUMENTS: dict[str, dict[str, Any]] = {
    "exclusive": EXCLUSIVE,
    "time-slicing": {"mode": "timeSlicing", "replicas": 10},
    "time-slicing-renamed": {"mode": "timeSlicing", "replicas": 10, "rename": True},
    "time-slicing-lenient": {
        "mode": "timeSlicing",
        "replicas": 3,
        "failRequestsGreaterThanOne": False,
    },
    "mps": {"mode": "mps", "replicas": 16},
    "mps-renamed": {"mode": "mps", "replicas": 2, "rename": True},
    "mps-lenient": {"mode": "mps", "replicas": 2, "failRequestsGreaterThanOne": False},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_of(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"device-plugin/{name}.yaml", render(document(pool_of(DOCUMENTS[name]), Catalog())))


def parsed_by_the_plugin() -> dict[str, Any]:
    path = GOLDEN / "device-plugin" / "parsed.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["documents"]
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_device_plugin_itself_read_this_very_document(name: str) -> None:
    text = render(document(pool_of(DOCUMENTS[name]), Catalog()))

    assert parsed_by_the_plugin()[name]["document"] == text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_device_plugin_reads_what_the_plan_says(name: str) -> None:
    read = parsed_by_the_plugin()[name]
    wanted = plan(DOCUMENTS[name])
    [request] = wanted.request
    shared = (
        read["config"]
        .get("sharing", {})
        .get({"time-slicing": "timeSlicing", "mps": "mps"}.get(read["strategy"], ""), {})
    )
    resources = shared.get("resources", [])

    assert "error" not in read
    assert read["config"]["flags"]["migStrategy"] == "none"
    assert wanted.per_node["p3.8xlarge"][request] == 4 * sum(
        each["replicas"] for each in resources or [{"replicas": 1}]
    )
    assert [each["name"] for each in resources] == ["nvidia.com/gpu"] * bool(resources)
    assert shared.get("renameByDefault", False) is request.endswith(".shared")
    assert {each.get("rename", each["name"]) for each in resources} <= {request}
    assert shared.get("failRequestsGreaterThanOne", True) is DOCUMENTS[name].get(
        "failRequestsGreaterThanOne", True
    )


def karpenter() -> dict[str, int]:
    path = GOLDEN / "karpenter" / "allocatable-cpu.json"
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["allocatable_cpu"]
    return found


@pytest.mark.parametrize("name", sorted(karpenter()))
def test_allocatable_cpu_is_that_of_karpenters_reference(name: str) -> None:
    assert allocatable(gpu_instance_types()[name]).cpu_millis == karpenter()[name]


def test_a_g4dn_xlarge_has_room_for_29_pods() -> None:
    found = allocatable(gpu_instance_types()["g4dn.xlarge"])

    assert (found.pods, found.cpu_millis) == (29, 3920)


def test_every_type_leaves_something_to_pods() -> None:
    for instance in gpu_instance_types().values():
        found = allocatable(instance)
        assert found.cpu_millis > 0
        assert found.memory_mib > 0
        assert found.pods is None or found.pods > SYSTEM_PODS


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({}, (0, 1, 1)),
        ({"max": 5}, (0, 1, 5)),
        ({"min": 3}, (3, 3, 3)),
        ({"min": 0, "desired": 0, "max": 2}, (0, 0, 2)),
        ({"desired": 4}, (0, 4, 4)),
        ({"desired": 0}, (0, 0, 1)),
    ],
)
def test_sizes_that_are_not_given(nodes: dict[str, int], expected: tuple[int, int, int]) -> None:
    found = sizes(pool_of(EXCLUSIVE, nodes=nodes).nodes)

    assert (found.min, found.desired, found.max) == expected


CIDRS = st.builds(
    lambda base, prefix: str(ipaddress.IPv4Network((base, prefix), strict=False)),
    st.integers(0x0A000000, 0x0AFFFFFF),
    st.integers(16, 20),
)


@given(CIDRS)
def test_subnets_lie_in_the_vpc_and_never_overlap(cidr: str) -> None:
    vpc = ipaddress.IPv4Network(cidr)
    found = [
        ipaddress.IPv4Network(text)
        for zone in cut(cidr, MOST_ZONES)
        for text in (zone.private, zone.public)
    ]

    assert all(each.subnet_of(vpc) for each in found)
    assert not any(a.overlaps(b) for i, a in enumerate(found) for b in found[:i])


@given(CIDRS, st.integers(2, MOST_ZONES - 1))
def test_a_further_zone_moves_no_subnet(cidr: str, zones: int) -> None:
    assert cut(cidr, zones + 1)[:zones] == cut(cidr, zones)


@given(CIDRS, st.sampled_from("abcdef"))
def test_a_named_zone_has_the_place_of_its_letter(cidr: str, letter: str) -> None:
    assert zone_subnets(cidr, f"us-west-2{letter}") == cut(cidr, 6)["abcdef".index(letter)]


def test_the_smallest_vpc_has_subnets_that_aws_takes() -> None:
    assert {ipaddress.IPv4Network(zone.public).prefixlen for zone in cut("10.0.0.0/20", 6)} == {27}
