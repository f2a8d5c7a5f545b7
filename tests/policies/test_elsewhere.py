"""Clusters and nodes that a program makes out of sight: what is read of them, and what is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.reading.elsewhere import made_elsewhere, may_make
from gpushare_policies.reading.held_resources import holds_resources, nodes_elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

STACK = "aws:cloudformation/stack:Stack"
CLOUD_CONTROL = "aws:cloudcontrol/resource:Resource"
COMMAND = "command:local:Command"
DOCUMENT = "aws:ssm/document:Document"
GROUP = {"AmiType": "AL2023_x86_64_NVIDIA", "Labels": {"Team": "ml"}}


def template(properties: Any) -> dict[str, Any]:
    made = {"Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": properties}}
    return {"templateBody": json.dumps({"Resources": made})}


@pytest.mark.parametrize(
    ("token", "so"),
    [
        *((STACK, True), (CLOUD_CONTROL, True), (COMMAND, True), ("aws:s3/bucket:Bucket", False)),
        *(("kubernetes:apps/v1:Deployment", True), ("kubernetes:core/v1:Secret", False)),
        ("kubernetes:kyverno.io/v1:ClusterPolicy", True),
    ],
)
def test_what_may_make_something_is_told_by_its_type(token: str, so: bool) -> None:
    assert may_make(token) == so


@pytest.mark.parametrize(
    ("token", "so"),
    [
        *((STACK, True), (CLOUD_CONTROL, True), ("aws:s3/bucket:Bucket", False)),
        *(("aws-native:eks:Nodegroup", True), ("other:eks:Nodegroup", False)),
        ("aws-native:location:Map", False),
    ],
)
def test_what_holds_resources_that_rules_can_judge(token: str, so: bool) -> None:
    assert holds_resources(token) == so


@pytest.mark.parametrize(
    ("token", "props", "unknown"),
    [
        (COMMAND, {"create": UNKNOWN}, True),
        (COMMAND, {"create": "echo a", "interpreter": UNKNOWN}, None),
        (DOCUMENT, {"content": UNKNOWN}, True),
        (DOCUMENT, {"content": "eksctl create cluster"}, False),
    ],
)
def test_what_is_run_may_not_be_known_yet(
    token: str, props: dict[str, Any], unknown: bool | None
) -> None:
    found = made_elsewhere(token, props)

    assert (found.unknown if found else None) is unknown


@pytest.mark.parametrize(
    ("token", "props", "names"),
    [
        (STACK, template(GROUP), ["Nodes"]),
        (CLOUD_CONTROL, {"typeName": "AWS::EKS::Nodegroup", "desiredState": "{}"}, ["x"]),
        (CLOUD_CONTROL, {"typeName": "AWS::EKS::Cluster", "desiredState": "{}"}, []),
        ("aws-native:eks:Nodegroup", {}, ["x"]),
        ("aws-native:eks:Cluster", {}, []),
    ],
)
def test_node_groups_made_elsewhere_are_read(
    token: str, props: Any, names: list[str], resource: Callable[..., PolicyResource]
) -> None:
    found = nodes_elsewhere(resource(token, "x", props))

    assert [each.props["nodeGroupName"] for each in found] == names


def test_names_are_as_pulumi_has_them_but_for_labels(
    resource: Callable[..., PolicyResource],
) -> None:
    (group,) = nodes_elsewhere(resource(STACK, "x", template(GROUP)))

    assert group.props["amiType"] == "AL2023_x86_64_NVIDIA"
    assert group.props["labels"] == {"Team": "ml"}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("a", "a"),
        ({"Ref": "Type"}, UNKNOWN),
        ({"Condition": "IsLarge"}, UNKNOWN),
        ({"Fn::If": ["IsLarge", "a", "b"]}, UNKNOWN),
        (["a", {"Ref": "Type"}], ["a", UNKNOWN]),
        ({"Version": "1"}, {"version": "1"}),
        ({"Ref": "Type", "Other": "a"}, {"ref": "Type", "other": "a"}),
    ],
)
def test_what_a_function_of_a_template_makes_is_not_known(
    given: Any, read: Any, resource: Callable[..., PolicyResource]
) -> None:
    (group,) = nodes_elsewhere(resource(STACK, "x", template({"Given": given})))

    assert group.props["given"] == read
