"""What a pool takes over of a node group of Terraform or CloudFormation, and what it lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from inventory_of import nodes

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.migration.declared_groups import of_declared_group
from eks_gpushare.lint.migration.moved import Left, Moved
from eks_gpushare.manifests.document import Document

SIZES = {"min": 1, "desired": 2, "max": 4}
ROLE = "The stack makes roles of its own."
NO_COUNTERPART = "A stack file has no counterpart for it."
UNKNOWN_VALUE = "Its value is not known from the files."
MODULE = "The module makes more of them: terraform show -json of a plan has all of it."


def group(name: str = "aws_eks_node_group.gpu", **given: Any) -> tuple[dict[str, Any], Moved]:
    value = {"scaling_config": [{"min_size": 1}], **given}
    source = Source(name, Document("main.tf", value, lambda _: Position(1, 1)))
    made: dict[str, Any] = {"nodes": dict(SIZES)}
    moved = Moved()
    of_declared_group(replace(nodes(), source=source), made, moved)
    return made, moved


def said(moved: Moved) -> list[tuple[str, str]]:
    return [(each.what, each.why) for each in moved.left]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"capacity_type": UNKNOWN}, UNKNOWN_VALUE),
        ({"capacity_type": ["SPOT"]}, UNKNOWN_VALUE),
        ({"amiType": 5}, UNKNOWN_VALUE),
        ({"labels": UNKNOWN}, UNKNOWN_VALUE),
        ({"node_role_arn": UNKNOWN}, ROLE),
        ({"node_role_arn": "arn:aws:iam::1:role/n"}, ROLE),
        ({"force_update_version": True}, NO_COUNTERPART),
        ({"subnet_ids": []}, None),
        ({"tags": None}, None),
        ({"labels": {"a": "b"}}, None),
        ({"capacity_type": "SPOT"}, None),
    ],
    ids=str,
)
def test_what_is_listed_and_why(given: dict[str, Any], why: str | None) -> None:
    _, moved = group(**given)
    (key,) = given

    assert said(moved) == ([] if why is None else [(f"{key} of aws_eks_node_group.gpu", why)])


@pytest.mark.parametrize(
    ("given", "key", "taken"),
    [
        ({"disk_size": 120}, "rootVolumeGiB", 120),
        ({"disk_size": "120 GB"}, "rootVolumeGiB", None),
        ({"release_version": "1.35.1-20260101"}, "amiVersion", "1.35.1-20260101"),
        ({"release_version": 1.35}, "amiVersion", None),
        ({"subnet_ids": ["subnet-1", "subnet-2"]}, "subnetIds", ["subnet-1", "subnet-2"]),
        ({"Subnets": ["subnet-1"]}, "subnetIds", ["subnet-1"]),
        ({"subnet_ids": ["subnet-1", UNKNOWN]}, "subnetIds", None),
        ({"subnet_ids": ["subnet-1", 5]}, "subnetIds", None),
        ({"subnet_ids": {"a": "b"}}, "subnetIds", None),
        ({"security_groups": ["sg-1"]}, "subnetIds", None),
    ],
    ids=str,
)
def test_what_a_pool_has_too(given: dict[str, Any], key: str, taken: Any) -> None:
    made, moved = group(**given)

    assert made.get(key) == taken
    assert bool(moved.left) is (taken is None)
    (place,) = given
    if taken is not None:
        assert (place,) in next(iter(moved.known.values()))


@pytest.mark.parametrize(("name", "taken"), [("vision", {"name": "vision"}), (5, None)])
def test_the_name_of_the_cluster(name: Any, taken: Any) -> None:
    _, moved = group(cluster_name=name)

    assert moved.environment.get("cluster") == taken


@pytest.mark.parametrize(
    ("scaling", "desired", "places"),
    [
        ([{"min_size": 1, "desired_size": 3}], 3, ["min_size", "desired_size"]),
        ({"DesiredSize": 9}, 4, ["DesiredSize"]),
        ({"desired_size": 0}, 1, ["desired_size"]),
        ({"max_size": 3}, 2, ["max_size"]),
        ({"desired_size": "three"}, 2, ["desired_size"]),
    ],
    ids=str,
)
def test_the_desired_number_stays_between_the_others(
    scaling: Any, desired: int, places: list[str]
) -> None:
    made, moved = group(scaling_config=scaling)
    start = ("scaling_config",) if isinstance(scaling, dict) else ("scaling_config", 0)

    assert made["nodes"] == {**SIZES, "desired": desired}
    assert next(iter(moved.known.values())) == {(*start, place) for place in places}


def test_a_number_that_is_not_known_is_listed_where_it_stands() -> None:
    made, moved = group(scaling_config=[{"desired_size": UNKNOWN}])

    assert made["nodes"] == SIZES
    place = ("scaling_config", 0, "desired_size")
    assert moved.left == [
        Left(
            *("main.tf", Position(1, 1), "desired_size of aws_eks_node_group.gpu"),
            *(UNKNOWN_VALUE, place),
        )
    ]


def test_a_module_has_inputs_that_are_not_seen() -> None:
    _, moved = group("module.eks.aws_eks_node_group.gpu")

    assert said(moved) == [("other inputs of module.eks", MODULE)]


@pytest.mark.parametrize("form", ["apiVersion", "managedNodeGroups", "nodeGroups"])
def test_documents_of_other_forms_are_accounted_for_elsewhere(form: str) -> None:
    given: dict[str, Any] = {form: [], "node_role_arn": "a"}
    _, moved = group(**given)

    assert said(moved) == []


def test_what_has_no_sizes_is_no_node_group() -> None:
    source = Source("it", Document("a.tf", {"node_role_arn": "a"}, lambda _: Position(1, 1)))
    moved = Moved()
    of_declared_group(replace(nodes(), source=source), {"nodes": {}}, moved)

    assert moved.left == []
