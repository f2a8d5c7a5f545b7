"""Resources of CloudFormation are judged as those of `pulumi_aws` are, however a program has them.

What AWS's schemas call a property is the oracle: `aws_oracle.cloudformation` makes CloudFormation's
properties of Pulumi's by them, the other way round than the pack reads them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from aws_oracle import cloudformation
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.program.recording import Resource
from gpushare_policies.reading.cloudformation import JUDGED, as_of_pulumi
from gpushare_policies.registry import THEMES
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import AWS_CLUSTER, LAUNCH_TEMPLATE, NODE_GROUP, SCALING_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STACK = "aws:cloudformation/stack:Stack"
CLOUD_CONTROL = "aws:cloudcontrol/resource:Resource"
KINDS = {
    AWS_CLUSTER: "AWS::EKS::Cluster",
    NODE_GROUP: "AWS::EKS::Nodegroup",
    LAUNCH_TEMPLATE: "AWS::EC2::LaunchTemplate",
}
RULES = [
    rule
    for theme in THEMES.values()
    for rule in theme
    if isinstance(rule, ResourcePolicy) and any(rule.looks_at(token) for token in KINDS)
]


def of_aws(token: str, props: dict[str, Any]) -> dict[str, Any]:
    """The properties as AWS's schema has them."""
    given = whole(props)
    types = given.get("enabledClusterLogTypes")
    made = cloudformation.properties(Resource("urn", token, "gpu", inputs=given))
    if types is not None:
        made["Logging"] = {"ClusterLogging": {"EnabledTypes": [{"Type": each} for each in types]}}
    return made


def whole(value: Any) -> Any:
    """With whole numbers as such: the wire knows no integers, and schemas insist on them."""
    if isinstance(value, dict):
        return {key: whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole(inner) for inner in value]
    return int(value) if isinstance(value, float) else value


def switches(value: Any) -> Any:
    """With a switch where Pulumi has a text and AWS has none."""
    if isinstance(value, dict):
        return {
            key: inner == "true"
            if key in ("encrypted", "associatePublicIpAddress")
            else switches(inner)
            for key, inner in value.items()
        }
    return [switches(inner) for inner in value] if isinstance(value, list) else value


def ways(kind: str, given: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each way in which a program may have a resource of CloudFormation."""
    template = {"Resources": {"gpu": {"Type": kind, "Properties": given}}}
    yield STACK, {"templateBody": json.dumps(template)}
    yield CLOUD_CONTROL, {"typeName": kind, "desiredState": json.dumps(given)}
    service, name = kind.split("::")[1:]
    yield f"aws-native:{service.lower()}:{name}", lowered(given)


def lowered(given: Any) -> Any:
    if isinstance(given, list):
        return [lowered(each) for each in given]
    if not isinstance(given, dict):
        return given
    return {
        f"{key[:1].lower()}{key[1:]}": each if key in ("Labels", "Tags") else lowered(each)
        for key, each in given.items()
    }


def less(value: Any) -> Iterator[Any]:
    """The same with one thing left out, whatever it is and wherever it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {other: each for other, each in value.items() if other != key}
            for made in less(inner):
                yield {**value, key: made}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for made in less(inner):
                yield [*value[:index], made, *value[index + 1 :]]
    elif isinstance(value, bool):
        yield not value


BROKEN: list[tuple[str, dict[str, Any]]] = [
    (AWS_CLUSTER, {"version": "1.29"}),
    (AWS_CLUSTER, {"upgradePolicy": {"supportType": "EXTENDED"}}),
    (NODE_GROUP, {"amiType": "AL2_x86_64_GPU"}),
    (NODE_GROUP, {"capacityType": "SPOT"}),
    (NODE_GROUP, {"instanceTypes": ["p3.8xlarge", "m5.large"]}),
    (NODE_GROUP, {"remoteAccess": {"ec2SshKey": "key"}}),
    (LAUNCH_TEMPLATE, {"metadataOptions": {"httpTokens": "optional"}}),
    (LAUNCH_TEMPLATE, {"keyName": "key"}),
    (LAUNCH_TEMPLATE, {"networkInterfaces": [{"associatePublicIpAddress": True}]}),
]


@pytest.mark.parametrize("token", KINDS)
def test_each_verdict_is_that_of_the_same_resource_of_pulumi(
    token: str, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    right = valid(token)
    variants = [right, *less(right), *({**right, **more} for of, more in BROKEN if of == token)]
    said = 0
    for props in variants:
        given = of_aws(token, props)
        judging = (each for each in RULES if each.looks_at(token))
        for rule in (each for each in judging if each.name != "clusters-made-in-sight"):  # the way
            expected = len(verdict(violations, rule, token, whole(props)))
            said += expected
            for foreign, held in ways(KINDS[token], given):
                found = verdict(violations, rule, foreign, held)

                assert len(found) == expected, (rule.name, foreign, props, found)
    assert said > len(variants) / 3


def verdict(violations: Callable[..., list[str]], rule: Any, token: str, props: Any) -> list[str]:
    try:
        return violations(rule, token, props)
    except UnknownValueError:
        return ["not judged"]


def test_what_schemas_call_a_property_comes_back_as_pulumi_calls_it(
    valid: Callable[[str], dict[str, Any]],
) -> None:
    for token, kind in KINDS.items():
        given = whole(valid(token))

        assert as_of_pulumi(kind, of_aws(token, given)) == (token, switches(given))


def test_every_type_that_is_judged_has_a_schema() -> None:
    assert set(KINDS.values()) < set(JUDGED)
    for kind in JUDGED:
        assert cloudformation.schema(kind)["typeName"] == kind


def test_subnets_of_scaling_groups_have_a_name_of_their_own() -> None:
    kind = "AWS::AutoScaling::AutoScalingGroup"
    assert "VPCZoneIdentifier" in cloudformation.schema(kind)["properties"]

    made = as_of_pulumi(kind, {"VPCZoneIdentifier": ["subnet-1"], "MinSize": "0"})

    assert made == (SCALING_GROUP, {"vpcZoneIdentifiers": ["subnet-1"], "minSize": "0"})


def test_tags_of_scaling_groups_stay_a_list_as_pulumi_has_them() -> None:
    """Since each says whether instances get it too; `aws.autoscaling.Group` has the same three."""
    schema = cloudformation.schema("AWS::AutoScaling::AutoScalingGroup")
    tag = {"Key": "Team", "Value": "ml", "PropagateAtLaunch": True}
    assert set(tag) == set(schema["definitions"]["TagProperty"]["properties"])

    made = as_of_pulumi("AWS::AutoScaling::AutoScalingGroup", {"Tags": [tag]})

    tags = [{"key": "Team", "value": "ml", "propagateAtLaunch": True}]
    assert made == (SCALING_GROUP, {"tags": tags})


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (NODE_GROUP, {"Labels": {"Team": "ml"}}, {"labels": {"Team": "ml"}}),
        (NODE_GROUP, {"Tags": {"Team": "ml"}}, {"tags": {"Team": "ml"}}),
        (AWS_CLUSTER, {"Tags": [{"Key": "Team", "Value": "ml"}]}, {"tags": {"Team": "ml"}}),
    ],
)
def test_names_that_people_give_stay_as_they_are(
    kind: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert as_of_pulumi(KINDS[kind], given) == (kind, expected)


@pytest.mark.parametrize("keys", [[], UNKNOWN, {"Fn::If": ["Own", [], []]}])
def test_without_keys_to_see_there_is_no_first_one(keys: Any) -> None:
    made = as_of_pulumi("AWS::EKS::Cluster", {"EncryptionConfig": keys})

    assert made is not None
    token, properties = made
    assert token == AWS_CLUSTER
    assert bool(properties["encryptionConfig"]) is bool(keys)


@pytest.mark.parametrize(
    ("kind", "given"),
    [("AWS::S3::Bucket", {}), ("AWS::EKS::Cluster", None), ("AWS::EKS::Cluster", UNKNOWN)],
)
def test_what_no_rule_judges_is_left(kind: str, given: Any) -> None:
    assert as_of_pulumi(kind, given) is None


def test_what_a_function_makes_is_not_judged(violations: Callable[..., list[str]]) -> None:
    (rule,) = (each for each in RULES if each.name == "public-endpoint-not-open")
    network = {"PublicAccessCidrs": {"Fn::Split": [",", {"Ref": "Networks"}]}}
    template = {
        "Resources": {
            "Ml": {"Type": "AWS::EKS::Cluster", "Properties": {"ResourcesVpcConfig": network}}
        }
    }

    with pytest.raises(UnknownValueError):
        violations(rule, STACK, {"templateBody": json.dumps(template)})


def test_templates_of_another_tools_resources_are_left(
    violations: Callable[..., list[str]],
) -> None:
    (rule,) = (each for each in RULES if each.name == "public-endpoint-not-open")
    bucket = {"Resources": {"Logs": {"Type": "AWS::S3::Bucket", "Properties": {}}}}

    assert violations(rule, STACK, {"templateBody": json.dumps(bucket)}) == []
    assert violations(rule, STACK, {"templateUrl": "https://example.com/t.yaml"}) == []
