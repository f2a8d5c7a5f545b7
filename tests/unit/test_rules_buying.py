"""Rules about how many nodes there are, how they are bought and where they are."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.rules.placement import zone_fault

BLOCK: dict[str, Any] = {
    "instanceTypes": ["p5.48xlarge"],
    "capacityType": "capacityBlock",
    "reservation": {"id": "cr-0123456789abcdef0"},
    "zones": ["us-west-2a"],
}
EXISTING = {
    "zones": None,
    "vpcId": "vpc-0a1b2c3d",
    "privateSubnetIds": ["subnet-0ac4e7f91d2b60358", "subnet-0bc4e7f91d2b60358"],
}


def pool(code: str, **changes: Any) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": changes}}, code)


@pytest.mark.parametrize(
    "nodes",
    [
        {"min": 0, "desired": 0, "max": 1},
        {"min": 1, "desired": 1, "max": 1},
        {"min": 1, "desired": 2, "max": 3},
    ],
)
def test_sizes_in_order_are_fine(nodes: dict[str, int]) -> None:
    assert pool("GPU401", nodes=nodes) == []


@pytest.mark.parametrize(
    ("nodes", "at", "message"),
    [
        (
            {"min": 2, "desired": 1, "max": 3},
            "nodes",
            "min 2, desired 1 and max 3 are not in this order.",
        ),
        (
            {"min": 0, "desired": 4, "max": 3},
            "nodes",
            "min 0, desired 4 and max 3 are not in this order.",
        ),
        ({"min": -1, "desired": 1, "max": 3}, "nodes.min", "min -1 is less than 0."),
        ({"min": 0, "desired": 0, "max": 0}, "nodes.max", "max 0 lets there be no node."),
    ],
)
def test_sizes_out_of_order_are_refused(nodes: dict[str, int], at: str, message: str) -> None:
    assert pool("GPU401", nodes=nodes) == [(f"pools.gpu.{at}", message)]


def test_sizes_of_system_nodes_are_looked_at_too() -> None:
    assert findings({"system": {"nodes": {"min": 5, "desired": 2, "max": 4}}}, "GPU401") == [
        ("system.nodes", "min 5, desired 2 and max 4 are not in this order.")
    ]


def test_karpenter_has_a_maximum_of_at_least_one() -> None:
    nodes = {"min": None, "desired": None, "max": 0}

    assert pool("GPU401", provisioner="karpenter", nodes=nodes) == [
        ("pools.gpu.nodes.max", "max 0 lets the pool have no node.")
    ]


@pytest.mark.parametrize("capacity", ["reserved", "capacityBlock"])
def test_what_is_bought_beforehand_is_named(capacity: str) -> None:
    changes = BLOCK | {"capacityType": capacity, "reservation": None}

    assert pool("GPU403", **changes) == [
        (
            "pools.gpu.reservation",
            f"capacityType: {capacity} needs the reservation it draws on.",
        )
    ]


def test_a_reservation_is_named_by_its_id() -> None:
    assert pool("GPU403", **(BLOCK | {"reservation": {"id": "my-block"}})) == [
        (
            "pools.gpu.reservation.id",
            '"my-block" is not the ID of a reservation, cr- and 17 hexadecimal digits.',
        )
    ]


@pytest.mark.parametrize("capacity", ["onDemand", "spot"])
def test_a_reservation_that_nothing_draws_on_is_refused(capacity: str) -> None:
    found = pool("GPU404", capacityType=capacity, reservation={"id": "cr-0123"})

    assert found == [
        (
            "pools.gpu.reservation",
            f"capacityType: {capacity} does not draw on a reservation.",
        )
    ]


def test_a_capacity_block_of_one_type_in_one_zone_is_fine() -> None:
    assert pool("GPU405", **BLOCK) == []


def test_a_capacity_block_of_two_types_is_refused() -> None:
    assert pool("GPU405", **(BLOCK | {"instanceTypes": ["p5.48xlarge", "p5e.48xlarge"]})) == [
        (
            "pools.gpu.instanceTypes",
            "A capacity block has one instance type; 2 are given.",
        )
    ]


@pytest.mark.parametrize("zones", [None, ["us-west-2a", "us-west-2b"]])
def test_a_capacity_block_in_two_zones_is_refused(zones: list[str] | None) -> None:
    assert pool("GPU405", **(BLOCK | {"zones": zones})) == [
        ("pools.gpu.zones", "A reservation lies in one zone; this pool may use 2 zones.")
    ]


def test_in_an_existing_network_a_reservation_is_in_one_subnet() -> None:
    reserved = {"capacityType": "reserved", "reservation": {"id": "cr-1"}}
    pools = {"gpu": reserved}

    assert findings({"network": EXISTING, "pools": pools}, "GPU406") == [
        ("pools.gpu.subnetIds", "A reservation lies in one zone; this pool names no subnets.")
    ]
    pools["gpu"] = {**reserved, "subnetIds": ["subnet-0ac4e7f91d2b60358"]}
    assert findings({"network": EXISTING, "pools": pools}, "GPU406") == []


@pytest.mark.parametrize("zone", ["us-west-2a", "us-west-2d"])
def test_a_zone_of_the_region(zone: str) -> None:
    assert findings({"network": {"zones": ["us-west-2b", zone]}}, "GPU408") == []


@pytest.mark.parametrize(
    "zone",
    ["us-west-2", "us-west-2g", "us-west-2A", "us-west-1a", "", "usw2-az1", "us-west-2-lax-1a"],
)
def test_what_is_no_zone_of_the_region(zone: str) -> None:
    assert findings({"network": {"zones": ["us-west-2b", zone]}}, "GPU408") == [
        (
            "network.zones[1]",
            f"{zone} is not a zone of us-west-2; zones are named us-west-2a to us-west-2f.",
        )
    ]


def test_any_zone_of_the_region_where_the_network_only_counts_them() -> None:
    fragment = {"network": {"zones": 2}, "pools": {"gpu": {"zones": ["us-west-2d"]}}}

    assert findings(fragment, "GPU408") == []


def test_an_empty_list_of_zones_is_refused() -> None:
    assert pool("GPU407", zones=[]) == [("pools.gpu.zones", "The list is empty.")]


@pytest.mark.parametrize(
    ("instance", "capacity", "sold"),
    [
        ("g5.xlarge", "onDemand", True),
        ("g5.xlarge", "spot", True),
        ("g5.xlarge", "capacityBlock", False),
        ("p5.48xlarge", "capacityBlock", True),
    ],
)
def test_how_a_type_is_sold(instance: str, capacity: str, sold: bool) -> None:
    found = pool("GPU410", instanceTypes=[instance], capacityType=capacity)

    assert (found == []) is sold


SUBNET = "subnet-0ac4e7f91d2b60358"


@pytest.mark.parametrize("of", ["pools.gpu", "system"])
@pytest.mark.parametrize(
    ("zones", "code", "at"),
    [
        (["us-west-2a"], "", ""),
        (["us-west-2b", "us-west-2a"], "", ""),
        ([], "GPU407", ""),
        (["us-west-2c"], "GPU407", "[0]"),
        (["us-west-2a", "us-west-2c"], "GPU407", "[1]"),
        (["us-west-2a", "us-west-2a"], "GPU441", "[1]"),
        (["us-west-2b", "us-west-2a", "us-west-2b"], "GPU441", "[2]"),
        (["us-west-2c", "us-west-2c"], "GPU441", "[1]"),
        (["us-west-1a"], "GPU408", "[0]"),
    ],
)
def test_zones_are_some_of_the_network_s(of: str, zones: list[str], code: str, at: str) -> None:
    owner = {"zones": zones}
    fragment = {"system": owner} if of == "system" else {"pools": {"gpu": owner}}
    found = {
        each: [path for path, _ in findings(fragment, each)]
        for each in ("GPU407", "GPU408", "GPU414", "GPU441")
    }

    outside = [f"{of}.zones[0]"] if zones[:1] == ["us-west-2c"] else []
    assert found.pop("GPU407") == ([f"{of}.zones{at}"] if code == "GPU407" else outside)
    assert {each: paths for each, paths in found.items() if paths} == (
        {code: [f"{of}.zones{at}"]} if code not in ("", "GPU407") else {}
    )


def test_a_network_that_only_counts_its_zones_may_have_any() -> None:
    fragment = {"network": {"zones": 2}, "pools": {"gpu": {"zones": ["us-west-2c"]}}}

    assert findings(fragment, "GPU407") == []


@pytest.mark.parametrize(
    ("fragment", "paths"),
    [
        ({"network": EXISTING, "system": {"zones": ["us-west-2a"]}}, ["system.zones"]),
        ({"network": EXISTING, "system": {}}, []),
        ({"system": {"zones": ["us-west-2a"]}}, []),
        ({"network": EXISTING, "pools": {"gpu": {"subnetIds": []}}}, ["pools.gpu.subnetIds"]),
        ({"network": EXISTING, "pools": {"gpu": {"subnetIds": [SUBNET]}}}, []),
        ({"network": EXISTING}, []),
        ({"pools": {"gpu": {"subnetIds": []}}}, ["pools.gpu.subnetIds"]),
    ],
)
def test_what_names_places_fits_the_network(fragment: dict[str, Any], paths: list[str]) -> None:
    assert [path for path, _ in findings(fragment, "GPU414")] == paths


@pytest.mark.parametrize(
    ("region", "zone", "said"),
    [
        (None, "anything", ""),
        ("us-west-2", "us-west-2a", ""),
        ("us-west-1", "us-west-1d", "us-west-1 has no zone us-west-1d; it has us-west-1a, "),
        ("eu-central-1", "eu-central-1f", "eu-central-1 has no zone eu-central-1f; it has "),
        ("xx-new-9", "xx-new-9f", ""),
        ("xx-new-9", "xx-new-9g", "xx-new-9g is not a zone of xx-new-9"),
    ],
)
def test_a_zone_is_one_that_the_region_has(region: str | None, zone: str, said: str) -> None:
    fault = zone_fault(zone, region)

    assert (fault or "").startswith(said)
    assert (fault is None) is (said == "")


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"efa": True, "zones": ["us-west-2a"]}, []),
        ({"efa": True, "zones": ["us-west-2a", "us-west-2b"]}, ["pools.gpu.zones"]),
        ({"efa": True}, ["pools.gpu.zones"]),
        ({"efa": True, "placementGroup": True}, []),
        ({"efa": False}, []),
        ({"efa": True, "provisioner": "existing", "nodes": None}, []),
    ],
)
def test_efa_is_in_one_zone(changes: dict[str, Any], paths: list[str]) -> None:
    found = pool("GPU627", instanceTypes=["p4d.24xlarge"], **changes)

    assert [path for path, _ in found] == paths


@pytest.mark.parametrize(("types", "count"), [(1, 0), (2, 1), (3, 1)])
def test_interfaces_of_efa_are_those_of_one_type(types: int, count: int) -> None:
    given = ["p4d.24xlarge", "p5.48xlarge", "p5e.48xlarge"][:types]

    assert len(pool("GPU412", instanceTypes=given, efa=True, zones=["us-west-2a"])) == count


def test_a_pool_that_may_be_bought_otherwise_may_be_anywhere() -> None:
    given = {
        "provisioner": "karpenter",
        "nodes": {"min": None, "desired": None, "max": 4},
        "karpenter": {"capacityTypes": ["reserved", "onDemand"]},
        "reservation": {"id": "cr-0123456789abcdef0"},
    }

    assert pool("GPU405", **given) == []
    assert pool("GPU406", **given) == []
    assert pool("GPU406", capacityType="reserved", reservation=given["reservation"]) != []


def test_efa_is_for_types_that_have_it() -> None:
    assert pool("GPU412", instanceTypes=["p4d.24xlarge"], efa=True, zones=["us-west-2a"]) == []
    assert pool("GPU412", instanceTypes=["g5.xlarge"], efa=True, zones=["us-west-2a"]) == [
        ("pools.gpu.efa", "g5.xlarge has no EFA interface.")
    ]


@pytest.mark.parametrize("zones", [None, ["us-west-2a", "us-west-2b"]])
def test_a_placement_group_is_in_one_zone(zones: list[str] | None) -> None:
    assert pool("GPU413", placementGroup=True, zones=zones) == [
        (
            "pools.gpu.placementGroup",
            "A cluster placement group lies in one zone; this pool may use 2 zones.",
        )
    ]


def test_subnets_belong_to_an_existing_network() -> None:
    pools = {"gpu": {"subnetIds": ["subnet-0ac4e7f91d2b60358"]}}

    assert findings({"network": EXISTING, "pools": pools}, "GPU414") == []
    assert [path for path, _ in findings({"pools": pools}, "GPU414")] == ["pools.gpu.subnetIds"]


def test_zones_belong_to_a_network_of_the_stack() -> None:
    fragment = {"network": EXISTING, "pools": {"gpu": {"zones": ["us-west-2a"]}}}

    assert findings(fragment, "GPU414") == [
        ("pools.gpu.zones", "The zones of an existing network are not known here.")
    ]


def test_a_subnet_is_one_of_the_network() -> None:
    fragment = {"network": EXISTING, "pools": {"gpu": {"subnetIds": ["subnet-0cc4e7f91d2b60358"]}}}

    assert [path for path, _ in findings(fragment, "GPU414")] == ["pools.gpu.subnetIds[0]"]


NODES: dict[str, Any] = {"min": None, "desired": None, "max": 4}
OTHER_BLOCK = {"id": "cr-0123456789abcdef9"}


def two(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, str]]:
    return findings({"pools": {"gpu": first, "other": {**BLOCK, **second}}}, "GPU628")


@pytest.mark.parametrize(
    ("second", "key", "there"),
    [
        ({}, "", ""),
        ({"zones": None}, "", ""),
        ({"instanceTypes": ["p5e.48xlarge"], "reservation": OTHER_BLOCK}, "", ""),
        ({"instanceTypes": ["p5e.48xlarge"]}, "instanceTypes", "p5.48xlarge"),
        ({"zones": ["us-west-2b"]}, "zones", "us-west-2a"),
        (
            {"instanceTypes": ["p5e.48xlarge"], "zones": ["us-west-2b"]},
            "instanceTypes",
            "p5.48xlarge",
        ),
    ],
)
def test_pools_that_draw_on_one_reservation_are_alike(
    second: dict[str, Any], key: str, there: str
) -> None:
    message = (
        f"cr-0123456789abcdef0 is the reservation of the pool gpu too, which has {there} here."
    )

    assert two(BLOCK, second) == ([(f"pools.other.{key}", message)] if key else [])


def test_a_pool_that_lacks_its_reservation_is_like_any() -> None:
    assert two(BLOCK, {"reservation": None, "instanceTypes": ["p5e.48xlarge"]}) == []


def test_a_pool_of_reservations_and_blocks_draws_on_reservations_alone() -> None:
    either = {
        "provisioner": "karpenter",
        "nodes": NODES,
        "instanceTypes": ["p5e.48xlarge"],
        "karpenter": {"capacityTypes": ["reserved", "capacityBlock"]},
    }

    assert [path for path, _ in two(BLOCK, either)] == ["pools.other.instanceTypes"]


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"karpenter": {"capacityTypes": ["spot"]}}, "capacityType"),
        ({"provisioner": "karpenter", "nodes": NODES}, "capacityType"),
        (
            {
                "provisioner": "karpenter",
                "nodes": NODES,
                "karpenter": {"capacityTypes": ["capacityBlock"]},
                "capacityType": None,
            },
            "karpenter.capacityTypes",
        ),
    ],
)
def test_how_a_type_is_not_sold_is_said_where_it_is_asked_for(
    keys: dict[str, Any], path: str
) -> None:
    found = pool(
        "GPU410", instanceTypes=["g5.xlarge"], **({"capacityType": "capacityBlock"} | keys)
    )

    assert [each for each, _ in found] == [f"pools.gpu.{path}"]


@pytest.mark.parametrize(
    ("ways", "types", "message"),
    [
        (["reserved"], 1, ""),
        (["reserved"], 2, "A reservation is of one instance type; 2 are given."),
        (["reserved"], 3, "A reservation is of one instance type; 3 are given."),
        (["reserved", "onDemand"], 2, ""),
        (["onDemand"], 2, ""),
    ],
)
def test_a_reservation_is_of_one_type_unless_there_is_another_way(
    ways: list[str], types: int, message: str
) -> None:
    found = pool(
        "GPU628",
        provisioner="karpenter",
        nodes=NODES,
        instanceTypes=["g5.xlarge", "g5.2xlarge", "g5.4xlarge"][:types],
        karpenter={"capacityTypes": ways},
        reservation=BLOCK["reservation"],
    )

    assert found == ([("pools.gpu.instanceTypes", message)] if message else [])


def test_a_pool_that_may_do_without_its_reservation_says_nothing_of_others() -> None:
    first = {
        "provisioner": "karpenter",
        "nodes": NODES,
        "instanceTypes": ["g5.xlarge"],
        "karpenter": {"capacityTypes": ["reserved", "onDemand"]},
        "reservation": BLOCK["reservation"],
    }

    assert two(first, {}) == []
    assert two({"instanceTypes": ["g5.xlarge"]}, {}) == []


RESERVED: dict[str, Any] = {"capacityType": "reserved", "zones": ["us-west-2a"]}


@pytest.mark.parametrize(
    ("instances", "changes", "message"),
    [
        (2, {}, None),
        (3, {}, None),
        (1, {}, "The pool may have 2 nodes, and 1 of them is reserved."),
        (0, {}, "0 instances are no reservation."),
        (1, {"nodes": {"min": 0, "desired": 1, "max": 1}}, None),
        (
            1,
            {"nodes": {"desired": 3, "max": None}},
            "The pool may have 3 nodes, and 1 of them is reserved.",
        ),
        (1, {"provisioner": "karpenter", "nodes": NODES}, "The pool may have 4 nodes, and 1 of"),
        (1, {"provisioner": "karpenter", "nodes": {**NODES, "max": None}}, None),
        (
            1,
            {
                "provisioner": "karpenter",
                "nodes": NODES,
                "karpenter": {"capacityTypes": ["capacityBlock", "reserved"]},
            },
            "The pool may have 4 nodes, and 1 of",
        ),
        (
            1,
            {
                "provisioner": "karpenter",
                "nodes": NODES,
                "karpenter": {"capacityTypes": ["reserved", "onDemand"]},
            },
            None,
        ),
    ],
)
def test_no_more_nodes_than_are_reserved(
    instances: int, changes: dict[str, Any], message: str | None
) -> None:
    reservation = {"id": "cr-07c1f29d6e4b8a35d", "instances": instances}
    nodes = {"min": 0, "desired": 1, "max": 2}
    found = pool("GPU442", **{**RESERVED, "reservation": reservation, "nodes": nodes, **changes})

    assert [at for at, _ in found] == ["pools.gpu.reservation.instances"] * (message is not None)
    assert [text[: len(message or "")] for _, text in found] == [message] * (message is not None)


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({}, []),
        ({"scaledBy": "autoscaler"}, ["scaledBy"]),
        ({"provisioner": "karpenter", "nodes": NODES}, ["provisioner"]),
        (
            {
                "provisioner": "karpenter",
                "nodes": {"min": None, "desired": 2, "max": 4},
                "karpenter": {"static": True},
            },
            [],
        ),
    ],
)
def test_a_capacity_block_is_paid_for_whoever_scales_it(
    changes: dict[str, Any], at: list[str]
) -> None:
    found = pool("GPU792", **{**BLOCK, "instanceTypes": ["p5.48xlarge"], **changes})

    assert [path for path, _ in found] == [f"pools.gpu.{key}" for key in at]
