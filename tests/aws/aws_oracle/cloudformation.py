"""Registrations as CloudFormation resources, against the schemas that AWS publishes for those.

The schemas are in cfn-lint's wheel, which is read and not installed: it would bring 90 MB that
nothing here needs.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft7Validator, ValidationError, validators

from aws_oracle.shapes import SchemaShape
from aws_oracle.translate import NotTakenError, plain, translate
from aws_oracle.validate import expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.recording import Resource

CFN_LINT = "cfn_lint-1.58.0-py3-none-any.whl"
_REGION = "us-east-1"


def wheel(name: str) -> Path:
    """A wheel that `make test` has downloaded; without it the test is skipped."""
    folder = os.environ.get("EKS_GPUSHARE_CATALOG_CACHE")
    cache_folder = Path(folder or Path(tempfile.gettempdir()) / "eks-gpushare-catalog")
    found = cache_folder / name
    if not found.is_file():
        pytest.skip(f"{name} is not in {cache_folder}: `make test` downloads it")
    return found


@dataclass(frozen=True)
class Equivalent:
    """The CloudFormation type of a resource, and what is named otherwise there."""

    type: str
    names: Mapping[str, str] = field(default_factory=dict)
    inside: str = ""
    """The property that holds all inputs but name and tags."""
    tags_inside: str = ""
    """What tag specifications call the resource, where tags stand in those."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    leaves: tuple[str, ...] = ()
    """Inputs that only Pulumi's provider has."""


_RULE = {
    "securityGroupId": "GroupId",
    "cidrIpv4": "CidrIp",
    "cidrIpv6": "CidrIpv6",
    "referencedSecurityGroupId": "{}SecurityGroupId",
}


def _rule(direction: str, other: str) -> Equivalent:
    names = {key: name.format(other) for key, name in _RULE.items()}
    return Equivalent(f"AWS::EC2::SecurityGroup{direction}", names, leaves=("tags",))


NONE = {
    "aws:amp/workspaceConfiguration:WorkspaceConfiguration": "a property of Workspace there",
    "aws:cloudwatch/eventTarget:EventTarget": "a property of Rule there",
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": "CloudFormation leaves it as AWS makes it",
    "aws:ec2/tag:Tag": "a property of the resource there",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": "a property of AccessEntry there",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "a property of Role there",
}
"""Types that CloudFormation has no resource for, and why."""

EQUIVALENTS: Mapping[str, Equivalent] = {
    "aws:amp/ruleGroupNamespace:RuleGroupNamespace": Equivalent(
        "AWS::APS::RuleGroupsNamespace",
        fixed={"Workspace": "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b3c4d"},
        leaves=("workspaceId",),  # which is named by its ARN there
    ),
    "aws:amp/scraper:Scraper": Equivalent(
        "AWS::APS::Scraper",
        {
            "destination.amp": "AmpConfiguration",
            "source.eks": "EksConfiguration",
            "scrapeConfiguration": "ScrapeConfiguration.ConfigurationBlob",
        },
    ),
    "aws:amp/workspace:Workspace": Equivalent("AWS::APS::Workspace"),
    "aws:cloudwatch/logGroup:LogGroup": Equivalent(
        "AWS::Logs::LogGroup", {"name": "LogGroupName"}, leaves=("skipDestroy",)
    ),
    "aws:cloudwatch/eventRule:EventRule": Equivalent("AWS::Events::Rule"),
    "aws:ec2/eip:Eip": Equivalent("AWS::EC2::EIP"),
    "aws:ec2/flowLog:FlowLog": Equivalent(
        "AWS::EC2::FlowLog",
        {"vpcId": "ResourceId", "iamRoleArn": "DeliverLogsPermissionArn"},
        fixed={"ResourceType": "VPC"},
    ),
    "aws:ec2/internetGateway:InternetGateway": Equivalent(
        "AWS::EC2::InternetGateway", leaves=("vpcId",)
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Equivalent(
        "AWS::EC2::LaunchTemplate",
        {"name": "LaunchTemplateName", "networkInterfaces.securityGroups": "Groups"},
        inside="LaunchTemplateData",
        tags_inside="launch-template",
        leaves=("updateDefaultVersion",),
    ),
    "aws:ec2/natGateway:NatGateway": Equivalent("AWS::EC2::NatGateway"),
    "aws:ec2/placementGroup:PlacementGroup": Equivalent(
        "AWS::EC2::PlacementGroup", {"name": "GroupName"}
    ),
    "aws:ec2/route:Route": Equivalent("AWS::EC2::Route"),
    "aws:ec2/routeTable:RouteTable": Equivalent("AWS::EC2::RouteTable"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Equivalent(
        "AWS::EC2::SubnetRouteTableAssociation"
    ),
    "aws:ec2/securityGroup:SecurityGroup": Equivalent(
        "AWS::EC2::SecurityGroup",
        {"name": "GroupName", "description": "GroupDescription"},
        leaves=("revokeRulesOnDelete",),
    ),
    "aws:ec2/subnet:Subnet": Equivalent("AWS::EC2::Subnet"),
    "aws:ec2/vpc:Vpc": Equivalent("AWS::EC2::VPC"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Equivalent("AWS::EC2::VPCEndpoint"),
    "aws:eks/accessEntry:AccessEntry": Equivalent(
        "AWS::EKS::AccessEntry", {"userName": "Username"}
    ),
    "aws:eks/addon:Addon": Equivalent(
        "AWS::EKS::Addon",
        {"resolveConflictsOnCreate": "ResolveConflicts", "preserve": "PreserveOnDelete"},
        leaves=("resolveConflictsOnUpdate",),
    ),
    "aws:eks/cluster:Cluster": Equivalent(
        "AWS::EKS::Cluster",
        {"vpcConfig": "ResourcesVpcConfig"},
        leaves=("enabledClusterLogTypes",),  # each a block of its own there
    ),
    "aws:sqs/queue:Queue": Equivalent(
        "AWS::SQS::Queue",
        {"name": "QueueName", "messageRetentionSeconds": "MessageRetentionPeriod"},
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Equivalent(
        "AWS::SQS::QueuePolicy", {"queueUrl": "Queues", "policy": "PolicyDocument"}
    ),
    "aws:eks/nodeGroup:NodeGroup": Equivalent(
        "AWS::EKS::Nodegroup",
        {"nodeRoleArn": "NodeRole", "subnetIds": "Subnets"},
    ),
    "aws:iam/role:Role": Equivalent(
        "AWS::IAM::Role", {"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument"}
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Equivalent(
        "AWS::EKS::PodIdentityAssociation"
    ),
    "aws:iam/rolePolicy:RolePolicy": Equivalent(
        "AWS::IAM::RolePolicy",
        {"name": "PolicyName", "role": "RoleName", "policy": "PolicyDocument"},
    ),
    "aws:kms/alias:Alias": Equivalent("AWS::KMS::Alias", {"name": "AliasName"}),
    "aws:kms/key:Key": Equivalent("AWS::KMS::Key", {"deletionWindowInDays": "PendingWindowInDays"}),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress", "Destination"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress", "Source"),
}
"""Every type that a stack may register and CloudFormation has."""


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema of a CloudFormation type."""
    with zipfile.ZipFile(wheel(CFN_LINT)) as archive:
        folder = "cfnlint/data/schemas"
        types = json.loads(archive.read(f"{folder}/providers/{_REGION}.json"))
        found: dict[str, Any] = json.loads(archive.read(f"{folder}/resources/{types[name]}.json"))
    return found


def properties(resource: Resource) -> dict[str, Any]:
    """The properties of a registration as a CloudFormation resource.

    Raises:
        NotTakenError: If the type is not known, or the schema has no place for an input.
    """
    if resource.type not in EQUIVALENTS:
        raise NotTakenError(f"{resource.type} is neither in EQUIVALENTS nor in NONE")
    to = EQUIVALENTS[resource.type]
    inputs = {key: v for key, v in plain(resource.inputs).items() if key not in to.leaves}
    if inputs.pop("namePrefix", None) is not None:  # of which the provider makes a name
        inputs["name"] = plain(resource.outputs)["name"]
    if resource.type == "aws:iam/rolePolicy:RolePolicy":  # its name is required there
        inputs.setdefault("name", plain(resource.outputs)["name"])
    for key, (outer, _, inner) in ((key, to.names[key].partition(".")) for key in to.names):
        if inner and key in inputs:  # a block there
            inputs[outer] = {inner: inputs.pop(key)}
    whole = schema(to.type)
    shape = SchemaShape(whole, whole.get("definitions", {}))
    found = dict(to.fixed)
    tags = inputs.pop("tags", None) if to.tags_inside else None
    if tags:
        pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
        found["TagSpecifications"] = [{"ResourceType": to.tags_inside, "Tags": pairs}]
    if not to.inside:
        return found | dict(translate(inputs, shape, "", to.names))
    name = {key: inputs.pop(key) for key in list(inputs) if key in to.names}
    within = translate(inputs, shape.members[to.inside], "", to.names)
    return {**found, **translate(name, shape, "", to.names), to.inside: within}


def _pattern(_validator: object, pattern: str, value: object, _schema: object) -> Any:
    if isinstance(value, str) and not expression(pattern).search(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


_Validator: Any = validators.extend(Draft7Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def faults(resource: Resource) -> list[str]:
    """What the schema has against a registration."""
    given = properties(resource)
    validator = _Validator(schema(EQUIVALENTS[resource.type].type))
    return [
        f"{resource.name}: {error.json_path}: {error.message}"
        for error in validator.iter_errors(given)
    ]
