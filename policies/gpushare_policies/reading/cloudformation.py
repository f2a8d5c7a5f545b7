"""Resources of CloudFormation as `pulumi_aws` has them, so that the same rules judge them.

Stacks have them in templates, Cloud Control in JSON, aws-native in properties; all three spell them
as the schemas of https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/ do, the
last with a small letter first. Most names differ from Pulumi's in nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    AWS_CLUSTER,
    INGRESS_RULE,
    INSTANCE,
    KMS_KEY,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    NODE_GROUP,
    ROLE,
    ROLE_POLICY,
    SCALING_GROUP,
    SECURITY_GROUP,
    SUBNET,
    VOLUME,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Equivalent(NamedTuple):
    """The type that a rule looks at, and what is called otherwise there."""

    token: str
    names: Mapping[str, str]
    """By what CloudFormation calls it, at the top."""
    changes: Callable[[dict[str, Any]], None] | None = None
    """What else is of another shape."""


def _cluster(made: dict[str, Any]) -> None:
    enabled = at(made.pop("logging", None), "clusterLogging", "enabledTypes")
    if enabled is UNKNOWN:
        made["enabledClusterLogTypes"] = UNKNOWN
    elif isinstance(enabled, list):
        made["enabledClusterLogTypes"] = [at(each, "type") for each in enabled]
    keys = made.get("encryptionConfig")
    if isinstance(keys, list) and keys:
        made["encryptionConfig"] = keys[0]  # EKS takes one


def _node_group(made: dict[str, Any]) -> None:
    access = made.get("remoteAccess")
    if isinstance(access, dict) and "sourceSecurityGroups" in access:
        access["sourceSecurityGroupIds"] = access.pop("sourceSecurityGroups")


def _launch_template(made: dict[str, Any]) -> None:
    data = made.pop("launchTemplateData", None)
    if data is UNKNOWN:
        # Whatever a rule asks for is not known then.
        made |= dict.fromkeys(("metadataOptions", "blockDeviceMappings", "imageId"), UNKNOWN)
    elif isinstance(data, dict):
        groups = data.pop("securityGroupIds", None)
        made |= data if groups is None else {**data, "vpcSecurityGroupIds": groups}


def _security_group(made: dict[str, Any]) -> None:
    """Rules of a group are written with lists of networks, those that stand alone with one."""
    for key in ("ingress", "egress"):
        listed = made.get(key)
        for rule in listed if isinstance(listed, list) else ():
            for theirs, ours in (("cidrIp", "cidrBlocks"), ("cidrIpv6", "ipv6CidrBlocks")):
                if isinstance(rule, dict) and theirs in rule:
                    rule[ours] = [rule.pop(theirs)]
            if isinstance(rule, dict) and "ipProtocol" in rule:
                rule["protocol"] = rule.pop("ipProtocol")


def _role(made: dict[str, Any]) -> None:
    listed = made.get("inlinePolicies")
    for policy in listed if isinstance(listed, list) else ():
        if isinstance(policy, dict) and "policyDocument" in policy:
            policy["policy"] = policy.pop("policyDocument")


def _instance(made: dict[str, Any]) -> None:
    """A machine, whose volumes stand in one list."""
    listed = made.pop("blockDeviceMappings", None)
    volumes: list[Any] = []
    for mapping in listed if isinstance(listed, list) else ():
        name, ebs = at(mapping, "deviceName"), at(mapping, "ebs")
        if isinstance(ebs, dict) and name in _ROOTS:
            made["rootBlockDevice"] = ebs
        elif isinstance(ebs, dict):
            volumes.append({**ebs, "deviceName": name})
    if listed is UNKNOWN or volumes:
        made["ebsBlockDevices"] = UNKNOWN if listed is UNKNOWN else volumes


_ROOTS = ("/dev/xvda", "/dev/sda1", "/dev/sda")


_EQUIVALENTS: Mapping[str, _Equivalent] = {
    "AWS::EKS::Cluster": _Equivalent(AWS_CLUSTER, {"resourcesVpcConfig": "vpcConfig"}, _cluster),
    "AWS::EKS::Nodegroup": _Equivalent(
        NODE_GROUP,
        {"nodegroupName": "nodeGroupName", "nodeRole": "nodeRoleArn", "subnets": "subnetIds"},
        _node_group,
    ),
    "AWS::EKS::AccessEntry": _Equivalent(ACCESS_ENTRY, {}),
    "AWS::EC2::Instance": _Equivalent(INSTANCE, {"imageId": "ami"}, _instance),
    "AWS::Logs::LogGroup": _Equivalent(LOG_GROUP, {"logGroupName": "name"}),
    "AWS::EC2::LaunchTemplate": _Equivalent(
        LAUNCH_TEMPLATE, {"launchTemplateName": "name"}, _launch_template
    ),
    "AWS::EC2::SecurityGroup": _Equivalent(
        SECURITY_GROUP,
        {
            "groupName": "name",
            "groupDescription": "description",
            "securityGroupIngress": "ingress",
            "securityGroupEgress": "egress",
        },
        _security_group,
    ),
    "AWS::EC2::SecurityGroupIngress": _Equivalent(
        INGRESS_RULE, {"groupId": "securityGroupId", "cidrIp": "cidrIpv4"}
    ),
    "AWS::IAM::Role": _Equivalent(
        ROLE,
        {
            "roleName": "name",
            "assumeRolePolicyDocument": "assumeRolePolicy",
            "policies": "inlinePolicies",
        },
        _role,
    ),
    **dict.fromkeys(
        ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"),
        _Equivalent(ROLE_POLICY, {"policyDocument": "policy", "roles": "role", "roleName": "role"}),
    ),
    "AWS::EC2::Subnet": _Equivalent(SUBNET, {}),
    "AWS::EC2::Volume": _Equivalent(VOLUME, {"volumeType": "type"}),
    "AWS::KMS::Key": _Equivalent(
        KMS_KEY,
        {"keySpec": "customerMasterKeySpec", "pendingWindowInDays": "deletionWindowInDays"},
    ),
    "AWS::AutoScaling::AutoScalingGroup": _Equivalent(
        SCALING_GROUP,
        {
            "autoScalingGroupName": "name",
            "vPCZoneIdentifier": "vpcZoneIdentifiers",
            "vpcZoneIdentifier": "vpcZoneIdentifiers",
        },
    ),
}
JUDGED = tuple(_EQUIVALENTS)
"""Types that rules judge, by CloudFormation's names."""
JUDGED_TOKENS = tuple(each.token for each in _EQUIVALENTS.values())
"""The same by those of Pulumi."""
_OF_USERS = ("labels", "tags", "userdata", "assumerolepolicydocument", "policydocument")
"""What people name themselves, or IAM does, and stays as it is."""


def as_of_pulumi(kind: str, given: Any) -> tuple[str, dict[str, Any]] | None:
    """The token and the properties that a resource would have in `pulumi_aws`.

    Args:
        kind: Its type, such as AWS::EKS::Cluster.
        given: Its properties, in which what is not known is `UNKNOWN`.

    Returns:
        None of a type that no rule judges, and of what has no properties to see.
    """
    equivalent = _EQUIVALENTS.get(kind)
    if equivalent is None or not isinstance(given, dict):
        return None
    lowered = _lowered(given)
    made = {equivalent.names.get(key, key): value for key, value in lowered.items()}
    if equivalent.changes is not None:
        equivalent.changes(made)
    tags = made.get("tags")
    if isinstance(tags, list) and equivalent.token != SCALING_GROUP:
        made["tags"] = {str(at(tag, "key")): at(tag, "value") for tag in tags}
    return equivalent.token, made


def _lowered(given: Any) -> Any:
    """Properties with names as Pulumi has them."""
    if isinstance(given, list):
        return [_lowered(item) for item in given]
    if not isinstance(given, dict):
        return given
    return {
        f"{key[:1].lower()}{key[1:]}": item
        if key.lower() in _OF_USERS and not isinstance(item, list)
        else _lowered(item)
        for key, item in given.items()
    }
