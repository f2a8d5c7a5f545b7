"""One mistake in many spellings, each beside a right file that looks much like it.

The expectations are EC2's, EKS's and the provider's: how the provider reads booleans and numbers
(`strconv.ParseBool`, `strconv.ParseInt`), what EC2 starts, and what EKS writes where nothing is
given.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gpushare_policies import POLICIES
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    AWS_CLUSTER,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    DEFAULT_SECURITY_GROUP,
    ENCRYPTION_BY_DEFAULT,
    INGRESS_RULE,
    INSTANCE,
    KMS_KEY,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    NODE_GROUP,
    SCALING_GROUP,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
    SPOT_FLEET,
    SPOT_INSTANCE,
    VOLUME,
)

if TYPE_CHECKING:
    from collections.abc import Callable


RULES = {rule.name: rule for rule in POLICIES}
RESOURCE_RULES = [rule for rule in POLICIES if isinstance(rule, ResourcePolicy)]
ABSENT = object()


class Pair(NamedTuple):
    """A mistake and its right twin, at one place of a valid resource."""

    rule: str
    token: str
    path: str
    wrong: Any
    right: Any


def _pairs(rule: str, token: str, path: str, *pairs: tuple[Any, Any]) -> list[Pair]:
    return [Pair(rule, token, path, wrong, right) for wrong, right in pairs]


PRIVATE = {"endpointPrivateAccess": True}
CIDRS = "vpcConfig.publicAccessCidrs"
ROOT = "/dev/xvda"


def _mapping(device: object, **ebs: object) -> dict[str, Any]:
    return {"deviceName": device, "ebs": ebs}


def _rules(*cidrs: str, **more: object) -> list[dict[str, Any]]:
    rule = {"protocol": "tcp", "fromPort": 22.0, "toPort": 22.0, **more}
    return [{**rule, "cidrBlocks": list(cidrs)}]


PAIRS = [
    # Networks count by the public addresses that they cover together.
    *_pairs(
        "public-endpoint-not-open",
        AWS_CLUSTER,
        CIDRS,
        (["0.0.0.0/0"], ["203.0.113.0/24"]),
        (["0.0.0.0/1", "128.0.0.0/1"], ["203.0.113.0/25", "203.0.113.128/25"]),
        (["0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/3"], ["192.0.2.0/24", "198.51.100.0/24"]),
        (["1.0.0.0/8", "2.0.0.0/7", "4.0.0.0/6", "8.0.0.0/5"], ["17.0.0.0/8"]),
        ([f"{n}.0.0.0/8" for n in range(1, 200) if n not in (10, 127)], ["9.0.0.0/8"]),
        (["128.0.0.0/1"], ["128.0.0.0/9"]),
        (["0.0.0.0/0.0.0.0"], ["203.0.113.0/255.255.255.0"]),
        (["64.0.0.1/2"], ["64.0.0.1/32"]),
        (["203.0.113.0/24", "::/0"], ["203.0.113.0/24", "2001:db8::/32"]),
        (["::/1", "8000::/1"], ["fc00::/7"]),
        (["2000::/3"], ["2a00:1450::/29"]),
        (["2000::/4", "3000::/4"], ["2600:1f00::/24"]),
        (["::ffff:0.0.0.0/96"], ["::ffff:203.0.113.0/120"]),
        (["0:0:0:0:0:0:0:0/0"], ["fd00:ec2::/32"]),
        ([" 0.0.0.0/0"], ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]),
        ([], ["203.0.113.7/32"]),
        (None, ["100.64.0.0/10", "198.18.0.0/15"]),
        ("0.0.0.0/0", "203.0.113.0/24"),
    ),
    # Booleans as the provider reads them.
    *_pairs(
        "public-endpoint-not-open",
        AWS_CLUSTER,
        "vpcConfig",
        *[
            (
                {**PRIVATE, "endpointPublicAccess": on, "publicAccessCidrs": ["0.0.0.0/0"]},
                {**PRIVATE, "endpointPublicAccess": off, "publicAccessCidrs": ["0.0.0.0/0"]},
            )
            for on, off in (("1", "0"), ("T", "F"), (None, "false"), (1.0, 0.0), ("True", "False"))
        ],
    ),
    *_pairs(
        "private-endpoint-on",
        AWS_CLUSTER,
        "vpcConfig.endpointPrivateAccess",
        ("0", "1"),
        ("f", "t"),
        ("F", "T"),
        ("FALSE", "TRUE"),
        ("False", "True"),
        (0.0, 1.0),
        (None, True),
        ("", "true"),
    ),
    *_pairs(
        "deletion-protection",
        AWS_CLUSTER,
        "deletionProtection",
        ("0", "1"),
        ("no", "t"),
        (0.0, 1.0),
    ),
    *_pairs("keys-rotated", KMS_KEY, "enableKeyRotation", ("f", "T"), (None, 1.0), ("0", "TRUE")),
    *_pairs(
        "keys-rotated",
        KMS_KEY,
        "",
        ({"enableKeyRotation": False}, {"enableKeyRotation": False, "customKeyStoreId": "cks-1"}),
        ({"enableKeyRotation": None}, {"enableKeyRotation": None, "xksKeyId": "1"}),
        ({"enableKeyRotation": ""}, {"customerMasterKeySpec": "RSA_2048", "enableKeyRotation": ""}),
    ),
    *_pairs("secrets-encrypted", AWS_CLUSTER, "encryptionConfig.provider.keyArn", ("", "arn:k")),
    *_pairs("secrets-encrypted", AWS_CLUSTER, "encryptionConfig.resources", ([], ["secrets"])),
    *_pairs("version-in-standard-support", AWS_CLUSTER, "version", ("", "1.35"), (1.3, 1.35)),
    *_pairs(
        "api-authentication",
        AWS_CLUSTER,
        "accessConfig",
        (None, {"authenticationMode": "API"}),
        ({}, {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}),
    ),
    *_pairs(
        "control-plane-logs-kept",
        LOG_GROUP,
        "retentionInDays",
        (0.0, 365.0),
        ("30", "400"),
        (89.0, 90.0),
    ),
    # Volumes: what is not said is not encrypted, and a data disk is no root.
    *_pairs(
        "volumes-encrypted",
        LAUNCH_TEMPLATE,
        "blockDeviceMappings",
        ([_mapping(ROOT, encrypted="0")], [_mapping(ROOT, encrypted="1")]),
        ([_mapping(ROOT, encrypted="f")], [_mapping(ROOT, encrypted="t")]),
        ([_mapping(ROOT, encrypted="FALSE")], [_mapping(ROOT, encrypted="TRUE")]),
        ([_mapping(ROOT, encrypted=0.0)], [_mapping(ROOT, encrypted=1.0)]),
        ([_mapping(ROOT, encrypted="")], [_mapping(ROOT, encrypted=True)]),
        ([_mapping(ROOT, encrypted="yes")], [_mapping(ROOT, encrypted="T")]),
        ([_mapping(ROOT, kmsKeyId="arn:k")], [_mapping(ROOT, kmsKeyId="arn:k", encrypted="true")]),
        ([_mapping(ROOT)], [_mapping("/dev/sda1", encrypted="true")]),
        ([_mapping("/dev/xvdb", encrypted="true")], [_mapping("/dev/sda", encrypted="true")]),
        ([_mapping("/dev/sdf", encrypted="true")], [_mapping("xvda", encrypted="true")]),
        ([_mapping("xvdba", encrypted="true")], [_mapping("/dev/nvme0n1", encrypted="true")]),
        (
            [_mapping("/dev/sdb", encrypted="true"), _mapping("/dev/sdc", encrypted="true")],
            [_mapping(ROOT, encrypted="true"), _mapping("/dev/sdc", encrypted="true")],
        ),
        (
            [_mapping(ROOT, encrypted="true"), _mapping("/dev/xvdb", volumeSize=500.0)],
            [_mapping(ROOT, encrypted="true"), {"deviceName": "/dev/xvdb", "noDevice": "true"}],
        ),
        (
            [{"deviceName": "/dev/sdb", "virtualName": "ephemeral0"}],
            [
                _mapping(ROOT, encrypted="true"),
                {"deviceName": "/dev/sdb", "virtualName": "ephemeral0"},
            ],
        ),
        ([], [_mapping("/dev/sda1", encrypted="true", kmsKeyId="arn:k")]),
        (None, [_mapping("/dev/sda2", encrypted="true")]),
    ),
    *_pairs(
        "volumes-encrypted",
        INSTANCE,
        "rootBlockDevice",
        ({"encrypted": False}, {"encrypted": True}),
        ({"volumeSize": 200.0}, {"encrypted": "1"}),
        ({"kmsKeyId": "arn:k"}, {"encrypted": True, "kmsKeyId": "arn:k"}),
        (None, {"encrypted": "t"}),
    ),
    *_pairs(
        "volumes-encrypted",
        INSTANCE,
        "ebsBlockDevices",
        ([{"deviceName": "/dev/sdf"}], [{"deviceName": "/dev/sdf", "encrypted": True}]),
        ([{"deviceName": "/dev/sdf", "encrypted": "F"}], []),
    ),
    *_pairs(
        "volumes-encrypted",
        LAUNCH_CONFIGURATION,
        "rootBlockDevice",
        ({"encrypted": "0"}, {"encrypted": "1"}),
        (None, {"encrypted": True}),
    ),
    *_pairs("volumes-encrypted", SPOT_INSTANCE, "rootBlockDevice", ({}, None)),
    *_pairs(
        "volumes-encrypted",
        SPOT_FLEET,
        "launchSpecifications",
        ([{"ami": "ami-1", "rootBlockDevices": [{"volumeSize": 100.0}]}], None),
        ([{"ami": "ami-1"}], []),
    ),
    *_pairs("volumes-encrypted", VOLUME, "encrypted", ("f", "T"), (0.0, 1.0), (None, "1")),
    *_pairs("volumes-encrypted", ENCRYPTION_BY_DEFAULT, "enabled", (False, True), ("0", None)),
    *_pairs(
        "volumes-encrypted",
        NODE_GROUP,
        "launchTemplate",
        (None, {"name": "gpu", "version": "3"}),
    ),
    # The metadata service, wherever a machine is described.
    *_pairs(
        "imdsv2-required",
        LAUNCH_TEMPLATE,
        "metadataOptions.httpPutResponseHopLimit",
        (2.0, 1.0),
        ("2", "1"),
        ("64", "01"),
        (1.0e3, "+1"),
        (None, 1),
        ("1 ", 1.5),
        (0.0, 1.0),
        ("0", "1"),
        (-1.0, 1.0),
    ),
    *_pairs(
        "imdsv2-required",
        LAUNCH_TEMPLATE,
        "metadataOptions.httpTokens",
        ("optional", "required"),
        ("Required", "required"),
        ("", "required"),
    ),
    *_pairs(
        "imdsv2-required",
        INSTANCE,
        "metadataOptions",
        (None, {"httpEndpoint": "disabled"}),
        (
            {"httpTokens": "required"},
            {"httpTokens": "required", "httpPutResponseHopLimit": 1.0},
        ),
        (
            {"httpTokens": "optional", "httpEndpoint": "enabled"},
            {"httpTokens": "required", "httpPutResponseHopLimit": "1", "httpEndpoint": "enabled"},
        ),
    ),
    *_pairs(
        "imdsv2-required",
        LAUNCH_CONFIGURATION,
        "metadataOptions",
        (None, {"httpTokens": "required", "httpPutResponseHopLimit": 1.0}),
    ),
    *_pairs(
        "imdsv2-required",
        SPOT_INSTANCE,
        "launchTemplate",
        (None, {"id": "lt-1", "version": "2"}),
    ),
    *_pairs(
        "imdsv2-required",
        SPOT_INSTANCE,
        "metadataOptions",
        ({"httpTokens": "optional"}, {"httpTokens": "required"}),
        ({"httpPutResponseHopLimit": 3.0}, {"httpPutResponseHopLimit": 1.0}),
    ),
    *_pairs(
        "imdsv2-required",
        SPOT_FLEET,
        "launchSpecifications",
        ([{"ami": "ami-1", "rootBlockDevices": [{"encrypted": True}]}], None),
    ),
    *_pairs(
        "imdsv2-required", NODE_GROUP, "launchTemplate", (None, {"id": "lt-9", "version": "7"})
    ),
    # Public addresses.
    *_pairs(
        "nodes-without-public-address",
        LAUNCH_TEMPLATE,
        "networkInterfaces",
        *[
            ([{"associatePublicIpAddress": yes}], [{"associatePublicIpAddress": no}])
            for yes, no in (("1", "0"), ("t", "f"), ("TRUE", "FALSE"), (1.0, 0.0), (True, ""))
        ],
        (
            [{"deviceIndex": 0.0}, {"deviceIndex": 1.0, "associatePublicIpAddress": "T"}],
            [{"deviceIndex": 0.0}, {"deviceIndex": 1.0}],
        ),
    ),
    *_pairs(
        "nodes-without-public-address",
        INSTANCE,
        "associatePublicIpAddress",
        ("1", "0"),
        (True, None),
    ),
    *_pairs(
        "nodes-without-public-address",
        LAUNCH_CONFIGURATION,
        "associatePublicIpAddress",
        ("t", "f"),
    ),
    # Images.
    *_pairs(
        "ami-versions-pinned",
        NODE_GROUP,
        "releaseVersion",
        ("", "1.35.8-20260930"),
        ("latest", "1.57.0-7d6dd4bc"),
        ("LATEST", "v1.57.0-7d6dd4bc"),
        ("1.35", "1.35-2026.09.10"),
        ("recommended", "1.36.1-20261101"),
        (None, "1.35.8-20260930.1"),
    ),
    *_pairs(
        "ami-versions-pinned",
        LAUNCH_TEMPLATE,
        "imageId",
        ("resolve:ssm:/images/gpu", "resolve:ssm:/images/gpu:3"),
        ("resolve:ssm:/images/gpu:latest", "ami-0123456789abcdef0"),
    ),
    *_pairs(
        "ami-versions-pinned", INSTANCE, "ami", ("resolve:ssm:/images/gpu", "resolve:ssm:/i/gpu:12")
    ),
    # GPU nodes by type, also by one that is newer than the catalog.
    *[
        Pair("gpu-nodes-tainted", NODE_GROUP, "", wrong, right)
        for wrong, right in (
            ({"instanceTypes": ["g5.xlarge"]}, {"instanceTypes": ["m7i.xlarge"]}),
            ({"instanceTypes": ["g9.4xlarge"]}, {"instanceTypes": ["c9g.4xlarge"]}),
            ({"instanceTypes": ["p7-x200.48xlarge"]}, {"instanceTypes": ["trn2.48xlarge"]}),
            ({"instanceTypes": ["p6e-gb300.36xlarge"]}, {"instanceTypes": ["inf2.48xlarge"]}),
            ({"instanceTypes": ["u-p6e-gb200x36.large"]}, {"instanceTypes": ["u-6tb1.metal"]}),
            ({"instanceTypes": ["g8dn.metal"]}, {"instanceTypes": ["g4ad.xlarge"]}),
            ({"instanceTypes": ["gr7.4xlarge"]}, {"instanceTypes": ["r7g.4xlarge"]}),
            ({"instanceTypes": ["t3.large", "g6f.large"]}, {"instanceTypes": ["t4g.large"]}),
            ({"amiType": "AL2023_ARM_64_NVIDIA"}, {"amiType": "AL2023_ARM_64_STANDARD"}),
            ({"amiType": "BOTTLEROCKET_x86_64_NVIDIA"}, {"amiType": "BOTTLEROCKET_x86_64"}),
            ({"amiType": "al2_x86_64_gpu"}, {"amiType": "AL2_x86_64"}),
        )
    ],
    *_pairs(
        "gpu-nodes-tainted",
        NODE_GROUP,
        "taints",
        (
            [{"key": "nvidia.com/gpu", "effect": "PREFER_NO_SCHEDULE"}],
            [{"key": "nvidia.com/gpu", "effect": "NO_EXECUTE"}],
        ),
        ([], [{"key": "team", "effect": "NO_SCHEDULE"}]),
    ),
    *_pairs(
        "node-repair-on",
        NODE_GROUP,
        "nodeRepairConfig",
        ({"enabled": "0"}, {"enabled": "1"}),
        ({}, {"enabled": 1.0}),
    ),
    # Security groups.
    *_pairs(
        "security-groups-not-open",
        SECURITY_GROUP,
        "ingress",
        (_rules("0.0.0.0/0"), _rules("10.0.0.0/8")),
        (_rules("0.0.0.0/1", "128.0.0.0/1"), _rules("203.0.113.0/24", "198.51.100.0/24")),
        (
            [*_rules("0.0.0.0/1"), *_rules("128.0.0.0/1")],
            _rules("0.0.0.0/0", fromPort=443, toPort=443),
        ),
        (_rules("0.0.0.0/0", protocol="-1"), _rules("10.0.0.0/8", protocol="-1")),
        (_rules("0.0.0.0/0", protocol="6"), _rules("0.0.0.0/0", protocol="icmp")),
        (_rules("0.0.0.0/0", protocol="TCP"), _rules("192.168.0.0/16", protocol="TCP")),
        (
            _rules("0.0.0.0/0", fromPort="0", toPort="65535"),
            _rules("0.0.0.0/0", fromPort="80", toPort="80"),
        ),
        (_rules("0.0.0.0/0", fromPort=30000.0, toPort=32767.0), _rules("fd00::/8")),
        (
            _rules("0.0.0.0/0", fromPort=443.0, toPort=10250.0),
            _rules("0.0.0.0/0", fromPort="443", toPort=443.0),
        ),
        (_rules(ipv6CidrBlocks=["::/0"]), _rules(ipv6CidrBlocks=["2001:db8::/32"])),
        (_rules("0.0.0.0/0", protocol="all"), _rules(securityGroups=["sg-1"])),
        (_rules("0.0.0.0/0", protocol="udp"), _rules(prefixListIds=["pl-1"])),
    ),
    *_pairs(
        "security-groups-not-open",
        DEFAULT_SECURITY_GROUP,
        "ingress",
        (_rules("0.0.0.0/0", protocol="-1"), [{"protocol": "-1", "self": True}]),
    ),
    *_pairs(
        "security-groups-not-open",
        SECURITY_GROUP_RULE,
        "cidrBlocks",
        (["0.0.0.0/0"], ["172.16.0.0/12"]),
        (["0.0.0.0/2", "64.0.0.0/2"], []),
    ),
    *_pairs(
        "security-groups-not-open",
        SECURITY_GROUP_RULE,
        "",
        *[
            ({"cidrBlocks": ["0.0.0.0/0"], **wrong}, {"cidrBlocks": ["0.0.0.0/0"], **right})
            for wrong, right in (
                ({"fromPort": 0.0, "toPort": 443.0}, {"fromPort": 443.0, "toPort": 443.0}),
                ({"fromPort": -1.0, "toPort": -1.0}, {"protocol": "icmp"}),
                ({"protocol": "17"}, {"protocol": "50"}),
                ({"fromPort": 80.0, "toPort": 81.0}, {"fromPort": 80.0, "toPort": 80.0}),
                ({"fromPort": None, "toPort": None}, {"protocol": "icmpv6"}),
            )
        ],
    ),
    *_pairs(
        "security-groups-not-open",
        SECURITY_GROUP_RULE,
        "",
        ({"cidrBlocks": ["::/0"]}, {"cidrBlocks": ["0.0.0.0/0"], "type": "egress"}),
    ),
    *_pairs("security-groups-not-open", INGRESS_RULE, "cidrIpv4", ("0.0.0.0/0", "10.1.0.0/16")),
    *_pairs(
        "security-groups-not-open",
        INGRESS_RULE,
        "",
        (
            {"cidrIpv4": None, "cidrIpv6": "::/0"},
            {"cidrIpv4": None, "referencedSecurityGroupId": "sg"},
        ),
        ({"cidrIpv4": "0.0.0.0/0", "ipProtocol": "-1"}, {"cidrIpv4": None, "prefixListId": "pl"}),
    ),
    *_pairs(
        "node-ssh-not-open",
        NODE_GROUP,
        "remoteAccess",
        ({"ec2SshKey": "ops"}, {"ec2SshKey": ""}),
        ({"ec2SshKey": "ops", "sourceSecurityGroupIds": []}, None),
    ),
    *_pairs("node-ssh-keys", LAUNCH_TEMPLATE, "keyName", ("ops", ""), ("k", None)),
    *_pairs("volumes-gp3", VOLUME, "type", ("gp2", "gp3"), ("standard", "io2"), (None, "gp3")),
    *_pairs(
        "node-updates-in-steps",
        NODE_GROUP,
        "",
        (
            {
                "updateConfig": {"maxUnavailablePercentage": "100"},
                "scalingConfig": {"maxSize": 4.0},
            },
            {"updateConfig": {"maxUnavailablePercentage": 33.0}, "scalingConfig": {"maxSize": 4.0}},
        ),
        (
            {"updateConfig": {"maxUnavailable": 4.0}, "scalingConfig": {"maxSize": "4"}},
            {"updateConfig": {"maxUnavailable": 1.0}, "scalingConfig": {"maxSize": "4"}},
        ),
        (
            {"updateConfig": {"maxUnavailable": 2.0}, "scalingConfig": {"maxSize": 2.0}},
            {"updateConfig": {"maxUnavailable": 1.0}, "scalingConfig": {"maxSize": 1.0}},
        ),
    ),
    *_pairs(
        "spot-not-in-production", NODE_GROUP, "capacityType", ("SPOT", "ON_DEMAND"), ("spot", None)
    ),
    *_pairs(
        "spot-not-in-production",
        LAUNCH_TEMPLATE,
        "instanceMarketOptions",
        ({"marketType": "spot"}, {"marketType": "capacity-block"}),
    ),
    *_pairs("spot-not-in-production", LAUNCH_CONFIGURATION, "spotPrice", ("0.9", "")),
    *_pairs(
        "spot-not-in-production",
        SCALING_GROUP,
        "mixedInstancesPolicy.instancesDistribution.onDemandPercentageAboveBaseCapacity",
        (0.0, 100.0),
        ("50", "100"),
    ),
    # Rights of people.
    *_pairs(
        "no-human-in-masters",
        ACCESS_ENTRY,
        "kubernetesGroups",
        (["a", "system:masters"], ["a", "masters"]),
        ("system:masters", "platform"),
    ),
    *_pairs(
        "no-human-in-masters",
        CLUSTER_ROLE_BINDING,
        "",
        *[
            (
                {"roleRef": {"name": "cluster-admin"}, "subjects": [wrong]},
                {"roleRef": {"name": "cluster-admin"}, "subjects": [right]},
            )
            for wrong, right in (
                ({"kind": "User", "name": "jane"}, {"kind": "Group", "name": "platform"}),
                (
                    {"kind": "User", "name": "system:anonymous"},
                    {"kind": "User", "name": "system:kube-scheduler"},
                ),
                (
                    {"kind": "Group", "name": "system:unauthenticated"},
                    {"kind": "Group", "name": "sre"},
                ),
            )
        ],
    ),
]


def _changed(props: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    if not path:
        return {**props, **copy.deepcopy(value)}
    *above, last = path.split(".")
    target = props
    for key in above:
        target = target[key]
    target[last] = copy.deepcopy(value)
    return props


def _name(pair: Pair) -> str:
    return f"{pair.rule}-{pair.token.rpartition(':')[2]}-{str(pair.wrong)[:60]}"


@pytest.mark.parametrize("pair", PAIRS, ids=_name)
def test_a_mistake_is_caught_however_it_is_spelled(
    pair: Pair, valid: Callable[[str], dict[str, Any]], violations: Callable[..., list[str]]
) -> None:
    def of(rule: ResourcePolicy, value: Any) -> list[str]:
        token = pair.token
        # GPU types alone, so that the image does not tell.
        props = valid(token)
        if pair.rule == "gpu-nodes-tainted" and not pair.path:
            props = {"launchTemplate": {"id": "lt-1"}, "releaseVersion": "1.35.8-20260930"}
        return violations(rule, token, _changed(props, pair.path, value))

    rule = RULES[pair.rule]
    assert isinstance(rule, ResourcePolicy)
    assert of(rule, pair.wrong), "the mistake passes"
    assert [found for each in RESOURCE_RULES for found in of(each, pair.right)] == []


PATCHED = {"metadata": {"name": "aws-auth"}, "data": {"mapRoles": "- groups: [system:masters]"}}
BOUND = {
    "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "User", "name": "jane"}],
}
RBAC = "kubernetes:rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("token", "props"),
    [
        (f"{CONFIG_MAP}Patch", PATCHED),
        (f"{CONFIG_MAP}List", {"items": [PATCHED]}),
        (f"{RBAC}/v1:ClusterRoleBindingPatch", BOUND),
        (f"{RBAC}/v1:ClusterRoleBindingList", {"items": [BOUND]}),
        (f"{RBAC}/v1beta1:ClusterRoleBinding", BOUND),
        (f"{RBAC}/v1alpha1:ClusterRoleBinding", BOUND),
        (f"{RBAC}/v1:RoleBinding", BOUND),
        (f"{RBAC}/v1:RoleBindingPatch", BOUND),
        (f"{RBAC}/v1:RoleBindingList", {"items": [BOUND]}),
    ],
    ids=str,
)
def test_people_with_all_rights_are_seen_in_every_kind_of_resource(
    token: str, props: dict[str, Any], violations: Callable[..., list[str]]
) -> None:
    rule = RULES["no-human-in-masters"]
    assert isinstance(rule, ResourcePolicy)
    without = str(props).replace("system:masters", "nodes").replace("cluster-admin", "view")

    assert len(violations(rule, token, props)) == 1
    assert violations(rule, token, ast.literal_eval(without)) == []
