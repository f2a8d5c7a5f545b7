"""What rules on AWS resources say, whole: what is wrong, what must be, and how to comply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpushare_policies import POLICIES
from gpushare_policies.rule import ResourcePolicy, StackPolicy
from gpushare_policies.tokens import (
    AWS_CLUSTER,
    ENCRYPTION_BY_DEFAULT,
    INGRESS_RULE,
    INSTANCE,
    KMS_KEY,
    LAUNCH_TEMPLATE,
    LOG_GROUP,
    NODE_GROUP,
    RELEASE,
    ROLE,
    ROLE_ATTACHMENT,
    SECURITY_GROUP,
    SPOT_FLEET,
    SUBNET,
    VOLUME,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES}
MESSAGES: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "keys-rotated",
        KMS_KEY,
        {},
        (
            "Rotation of the KMS key gpu is unset. It must be on, so that what leaks today is "
            "of no use next year. Set `enableKeyRotation: true`."
        ),
    ),
    (
        "control-plane-logs-kept",
        LOG_GROUP,
        {"name": "/aws/eks/gpu/cluster"},
        (
            "The log group gpu keeps the logs of /aws/eks/gpu/cluster for ever, and paid for as "
            "long. They must be kept for a set time of at least 90 days. Set `retentionInDays`."
        ),
    ),
    (
        "control-plane-logs-kept",
        LOG_GROUP,
        {"name": "/aws/eks/gpu/cluster", "retentionInDays": 7.0},
        (
            "The log group gpu keeps the logs of /aws/eks/gpu/cluster for 7 days. They must be "
            "kept for a set time of at least 90 days. Set `retentionInDays`."
        ),
    ),
    (
        "node-ssh-keys",
        LAUNCH_TEMPLATE,
        {"keyName": "ops"},
        (
            "The launch template gpu puts the SSH key ops on its nodes. There must be none: "
            "nobody sees who used it, and it does not expire. Remove `keyName`, "
            "`remoteAccess` of the node group, or the key in the user data; AWS Systems "
            "Manager opens a session without a key."
        ),
    ),
    (
        "node-ssh-keys",
        NODE_GROUP,
        {"remoteAccess": {"ec2SshKey": "ops"}},
        (
            "The node group gpu puts the SSH key ops on its nodes. There must be none: nobody "
            "sees who used it, and it does not expire. Remove `keyName`, `remoteAccess` of the "
            "node group, or the key in the user data; AWS Systems Manager opens a session "
            "without a key."
        ),
    ),
    (
        "node-ssh-not-open",
        NODE_GROUP,
        {"remoteAccess": {"ec2SshKey": "ops"}},
        (
            "The node group gpu opens port 22 of its nodes to the whole internet: "
            "`remoteAccess` names a key and no source security group. It must not be open. "
            "Remove `remoteAccess`, or name `remoteAccess.sourceSecurityGroupIds`."
        ),
    ),
    (
        "node-updates-in-steps",
        NODE_GROUP,
        {"updateConfig": {"maxUnavailable": 4.0}, "scalingConfig": {"maxSize": 4.0}},
        (
            "An update of the node group gpu takes 4 nodes of at most 4 at once. It must go in "
            "steps, or every pod of the group stops together. Set `updateConfig: "
            "{maxUnavailable: 1}`, or a `maxUnavailablePercentage` below 100."
        ),
    ),
    (
        "node-updates-in-steps",
        NODE_GROUP,
        {"updateConfig": {"maxUnavailablePercentage": 100.0}},
        (
            "An update of the node group gpu takes all at once. It must go in steps, or every "
            "pod of the group stops together. Set `updateConfig: {maxUnavailable: 1}`, or a "
            "`maxUnavailablePercentage` below 100."
        ),
    ),
    (
        "spot-not-in-production",
        NODE_GROUP,
        {"capacityType": "SPOT"},
        (
            "The NodeGroup gpu runs Spot instances, which EC2 takes back with two minutes' "
            "notice. In the stack prod nodes must be On-Demand. Set `capacityType: ON_DEMAND`; "
            "remove `instanceMarketOptions` or `spotPrice`; set "
            "`instancesDistribution.onDemandPercentageAboveBaseCapacity: 100`."
        ),
    ),
    (
        "volumes-gp3",
        VOLUME,
        {"type": "gp2"},
        (
            "The volume gpu has the type gp2. It must be gp3 (or io2), which is faster at the "
            "sizes that CUDA images need and costs less. Set `volumeType: gp3`."
        ),
    ),
    (
        "volumes-gp3",
        INSTANCE,
        {"rootBlockDevice": {"volumeType": "gp2"}},
        (
            "The volume rootBlockDevice of the instance gpu has the type gp2. It must be gp3 "
            "(or io2), which is faster at the sizes that CUDA images need and costs less. Set "
            "`volumeType: gp3`."
        ),
    ),
    (
        "security-groups-not-open",
        SECURITY_GROUP,
        {"ingress": [{"protocol": "-1", "cidrBlocks": ["0.0.0.0/0"]}]},
        (
            "The security group gpu opens every port to 0.0.0.0/0, the whole internet. Only the "
            "ports 80 and 443 may be open to it. Name the networks or security groups that need "
            "the port, in place of these."
        ),
    ),
    (
        "security-groups-not-open",
        INGRESS_RULE,
        {"ipProtocol": "tcp", "fromPort": 22.0, "toPort": 22.0, "cidrIpv4": "0.0.0.0/1"},
        (
            "The security group gpu opens port 22 to 0.0.0.0/1, 56.5 % of all public addresses. "
            "Only the ports 80 and 443 may be open to it. Name the networks or security groups "
            "that need the port, in place of these."
        ),
    ),
    (
        "tags-required",
        INSTANCE,
        {},
        (
            "gpu has no tag team. It must have each, so that somebody can say who pays for it. "
            "Add them to `tags`, or to `defaultTags` of the provider."
        ),
    ),
    (
        "imdsv2-required",
        NODE_GROUP,
        {"amiType": "x"},
        (
            "The node group gpu has no launch template, and the one that EKS makes has "
            "httpPutResponseHopLimit 2. It must be at most 1, or pods reach the node's "
            "credentials. Give it a launch template (`launchTemplate`) with `metadataOptions: "
            "{httpTokens: required, httpPutResponseHopLimit: 1}`."
        ),
    ),
    (
        "volumes-encrypted",
        NODE_GROUP,
        {"amiType": "x"},
        (
            "The node group gpu has no launch template, so the root volume that EKS gives its "
            "nodes is encrypted only where the AWS account encrypts by default. It must be "
            "encrypted whatever the account does. Give it a launch template (`launchTemplate`) "
            "with `blockDeviceMappings[].ebs.encrypted: true`."
        ),
    ),
    (
        "volumes-encrypted",
        LAUNCH_TEMPLATE,
        {"blockDeviceMappings": [{"deviceName": "/dev/xvdb", "ebs": {"encrypted": True}}]},
        (
            "The launch template gpu maps no root volume, only /dev/xvdb, so the nodes' root "
            "volume is encrypted only where the AWS account encrypts by default. It must be "
            "encrypted whatever the account does. Set `blockDeviceMappings[].ebs.encrypted: "
            "true`."
        ),
    ),
    (
        "volumes-encrypted",
        ENCRYPTION_BY_DEFAULT,
        {"enabled": False},
        (
            "gpu turns the encryption of new volumes off for the whole account and region. It "
            "must be on. Set `enabled: true`, or remove it."
        ),
    ),
    (
        "imdsv2-required",
        SPOT_FLEET,
        {"launchSpecifications": [{}]},
        (
            "The Spot fleet gpu starts instances without a launch template, which cannot "
            "require IMDSv2. It must be required, or a forged request from a pod reads the "
            "node's credentials (IMDSv1). Use `launchTemplateConfigs` in place of "
            "`launchSpecifications`."
        ),
    ),
    (
        "nodes-without-public-address",
        INSTANCE,
        {"associatePublicIpAddress": True, "instanceType": "g5.xlarge"},
        (
            "The instance gpu gives its nodes a public IP address. Nodes must have private "
            "addresses only. Set `associatePublicIpAddress: false`, and put nodes into private "
            "subnets."
        ),
    ),
    (
        "ami-versions-pinned",
        NODE_GROUP,
        {"releaseVersion": "latest", "amiType": "AL2023_x86_64_NVIDIA"},
        (
            "The nodes of gpu have the AMI release version latest and get the newest at "
            "creation, so the same program gives other nodes tomorrow. In the stack prod the "
            "AMI version must be pinned. Set `releaseVersion` to an EKS AMI release version, "
            "for example `1.35.8-20260930`, or name a custom AMI by its ID."
        ),
    ),
    (
        "public-endpoint-not-open",
        AWS_CLUSTER,
        {"vpcConfig": {"publicAccessCidrs": ["0.0.0.0/2"]}},
        (
            "The public API endpoint of gpu is open to the world: [0.0.0.0/2] may use it, "
            "together 28.1 % of all public addresses. It must name the networks that may use "
            "it. Set `vpcConfig.publicAccessCidrs` to them, or `vpcConfig.endpointPublicAccess: "
            "false`."
        ),
    ),
]


G5 = {"instanceTypes": ["g5.xlarge"]}
SIZES = {"minSize": 1.0, "desiredSize": 200.0, "maxSize": 200.0}
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
STARTED = {"launchTemplate": {"id": "lt-1", "version": "1"}}
DISKS = [{"deviceName": "/dev/xvda", "ebs": {"encrypted": True}}]

STACKS: list[tuple[str, list[tuple[str, dict[str, Any]]], str]] = [
    (
        "gpu-launch-template-taints",
        [(LAUNCH_TEMPLATE, {"id": "lt-1", "instanceType": "g5.xlarge"}), (NODE_GROUP, STARTED)],
        (
            "The GPU nodes of nodegroup have no taint that keeps other pods out (effects given: "
            "[]). There must be one with the effect NoSchedule or NoExecute, or pods that need "
            "no GPU fill the expensive nodes. Set `taints: [{key: nvidia.com/gpu, value: "
            '"true", effect: NO_SCHEDULE}]`.'
        ),
    ),
    (
        "gpu-launch-template-repair",
        [(LAUNCH_TEMPLATE, {"id": "lt-1", "instanceType": "g5.xlarge"}), (NODE_GROUP, STARTED)],
        (
            "Node repair of the GPU nodes of nodegroup is unset. It must be on, so that EKS "
            "replaces a node whose GPU has failed. Set `nodeRepairConfig: {enabled: true}`."
        ),
    ),
    (
        "gpu-launch-template-volume-size",
        [(LAUNCH_TEMPLATE, {"id": "lt-1"}), (NODE_GROUP, {**STARTED, **G5})],
        (
            "The launch template launchtemplate gives the GPU nodes of nodegroup no volume "
            "size. There must be at least 100 GiB, or pulling CUDA images fills it and evicts "
            "pods. Set `blockDeviceMappings[].ebs.volumeSize`, in GiB."
        ),
    ),
    (
        "launch-template-volumes-encrypted",
        [
            (LAUNCH_TEMPLATE, {"id": "lt-1", "blockDeviceMappings": DISKS}),
            (NODE_GROUP, {**STARTED, "amiType": "BOTTLEROCKET_x86_64"}),
        ],
        (
            "The launch template launchtemplate does not map /dev/xvdb, which the image of "
            "nodegroup brings: encrypted only where the AWS account encrypts by default. Each "
            "volume must be encrypted whatever the account does. Add a mapping of each to "
            "`blockDeviceMappings`, with `ebs.encrypted: true`."
        ),
    ),
    (
        "launch-template-pinned",
        [(NODE_GROUP, {"launchTemplate": {"id": "lt-9", "version": "$Latest"}})],
        (
            "The node group nodegroup starts from $Latest of a launch template that is not of "
            "this stack, so whoever makes a version of it changes these nodes. In the stack "
            "prod it must be pinned. Set `launchTemplate.version` to a number, or to the "
            "`latestVersion` of a template of this program, and set `imageId` of the template "
            "or `releaseVersion` of the node group."
        ),
    ),
    (
        "launch-template-pinned",
        [
            (LAUNCH_TEMPLATE, {"id": "lt-1", "imageId": "ami-1"}),
            (NODE_GROUP, {"launchTemplate": {"id": "lt-1"}}),
        ],
        (
            "The node group nodegroup starts from $Default of the launch template "
            "launchtemplate, which stays its first version for ever: what you change in it "
            "reaches no node. In the stack prod it must be pinned. Set `launchTemplate.version` "
            "to a number, or to the `latestVersion` of a template of this program, and set "
            "`imageId` of the template or `releaseVersion` of the node group."
        ),
    ),
    (
        "launch-template-pinned",
        [(LAUNCH_TEMPLATE, {"id": "lt-1"}), (NODE_GROUP, STARTED)],
        (
            "The launch template launchtemplate names no image, and the node group nodegroup "
            "neither an AMI type nor a release version: its nodes get what EKS recommends at "
            "the time. In the stack prod it must be pinned. Set `launchTemplate.version` to a "
            "number, or to the `latestVersion` of a template of this program, and set `imageId` "
            "of the template or `releaseVersion` of the node group."
        ),
    ),
    (
        "node-role-rights",
        [
            (ROLE, {"name": "nodes", "arn": "arn:nodes"}),
            (NODE_GROUP, {"nodeRoleArn": "arn:nodes"}),
            (ROLE_ATTACHMENT, {"role": "nodes", "policyArn": ADMIN}),
        ],
        (
            "The role of nodes role has arn:aws:iam::aws:policy/AdministratorAccess. It must "
            "have no more than nodes need: whoever gets at a node's credentials has all of it. "
            "Attach AmazonEKSWorkerNodePolicy, AmazonEC2ContainerRegistryPullOnly and what the "
            "nodes themselves need; give pods roles of their own by "
            "aws.eks.PodIdentityAssociation."
        ),
    ),
    (
        "desired-size-left-alone",
        [(NODE_GROUP, {"scalingConfig": SIZES}), (RELEASE, {"chart": "cluster-autoscaler"})],
        (
            "The node group nodegroup has its number of nodes from this program and from the "
            "Cluster Autoscaler of this stack. It must be left to one of them, or the next "
            "update stops nodes under running pods. Set the option "
            '`ignore_changes=["scalingConfig.desiredSize"]` (of an Auto Scaling group '
            "`desiredCapacity`), or leave `desiredCapacity` out."
        ),
    ),
    (
        "efa-in-one-zone",
        [
            (LAUNCH_TEMPLATE, {"id": "lt-1", "networkInterfaces": [{"interfaceType": "efa"}]}),
            (NODE_GROUP, {**STARTED, "subnetIds": ["a", "b"]}),
        ],
        (
            "The node group nodegroup has Elastic Fabric Adapters and 2 subnets. Such nodes "
            "must be in one zone, or their traffic does not reach each other. Name one subnet "
            "in `subnetIds` (`vpcZoneIdentifiers`)."
        ),
    ),
    (
        "nodes-in-private-subnets",
        [(SUBNET, {"id": "a", "mapPublicIpOnLaunch": True}), (NODE_GROUP, {"subnetIds": ["a"]})],
        (
            "The node group nodegroup puts nodes into subnet, where each gets a public address. "
            "Nodes must be in private subnets. Give `subnetIds` (`vpcZoneIdentifiers`) of "
            "subnets with `mapPublicIpOnLaunch: false`."
        ),
    ),
    (
        "cost-within-budget",
        [(NODE_GROUP, {**G5, "scalingConfig": SIZES})],
        (
            "The nodes of this stack cost 201.20 USD per hour at On-Demand prices, 201.20 of it "
            "200 x g5.xlarge of nodegroup. They must cost at most 100. Set a smaller "
            "`desiredSize` or a cheaper instance type, or raise this policy's budget."
        ),
    ),
    (
        "vcpus-within-quota",
        [(NODE_GROUP, {**G5, "scalingConfig": SIZES})],
        (
            "At their largest the groups nodegroup take 800 vCPUs of the quota Running "
            "On-Demand G and VT instances (L-DB2E81BA), which is 64. They must fit, or EC2 "
            "refuses nodes when they are needed. Ask for a larger quota, or lower `maxSize`."
        ),
    ),
    (
        "auto-mode-shares-no-gpu",
        [(AWS_CLUSTER, {"computeConfig": {"enabled": True}}), (RELEASE, {"chart": "gpu-operator"})],
        (
            "release is for nodes that the cluster cluster does not have: all nodes for GPUs of "
            "this stack are EKS Auto Mode's, whose device plugin is AWS's and shares nothing. GPUs "
            "must be shared on other nodes. Share GPUs on nodes of your own (aws.eks.NodeGroup, "
            "or Karpenter with an EC2NodeClass), or remove the chart: Auto Mode has a device "
            "plugin of its own."
        ),
    ),
]


@pytest.mark.parametrize(("name", "resources", "message"), STACKS, ids=lambda each: str(each)[:40])
def test_a_message_on_several_resources_says_the_same(
    name: str,
    resources: list[tuple[str, dict[str, Any]]],
    message: str,
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> None:
    rule = RULES[name]
    assert isinstance(rule, StackPolicy)
    made = [
        resource(token, token.rpartition(":")[2].lower(), {"region": "us-east-1", **props})
        for token, props in resources
    ]
    config = {"quotas": {"L-DB2E81BA": 64.0}} if name == "vcpus-within-quota" else None

    assert [text for _, text in stack_violations(rule, made, config)] == [message]


@pytest.mark.parametrize(("name", "token", "props", "message"), MESSAGES)
def test_a_message_says_what_is_wrong_and_how_to_comply(
    name: str,
    token: str,
    props: dict[str, Any],
    message: str,
    violations: Callable[..., list[str]],
) -> None:
    rule = RULES[name]
    assert isinstance(rule, ResourcePolicy)
    config = {"tags": {"team": ""}} if name == "tags-required" else None

    assert violations(rule, token, props, config=config) == [message]


@pytest.mark.parametrize(
    ("ports", "port", "told"),
    [
        (None, 80.0, None),
        (None, 8443.0, "Only the ports 80 and 443 may be open to it."),
        ([8443.0], 8443.0, None),
        ([8443.0], 443.0, "Only port 8443 may be open to it."),
        ([], 443.0, "No port may be open to it."),
    ],
)
def test_the_ports_that_may_be_open_are_configured(
    ports: list[float] | None,
    port: float,
    told: str | None,
    violations: Callable[..., list[str]],
) -> None:
    props = {"ipProtocol": "tcp", "fromPort": port, "toPort": port, "cidrIpv4": "0.0.0.0/0"}
    config = None if ports is None else {"ports": ports}
    rule = RULES["security-groups-not-open"]
    assert isinstance(rule, ResourcePolicy)

    found = violations(rule, INGRESS_RULE, props, config=config)

    assert [told in message for message in found if told] == ([True] if told else [])
    assert bool(found) is (told is not None)


@pytest.mark.parametrize(
    ("ports", "told"),
    [
        ({}, "every port"),
        ({"fromPort": -1.0, "toPort": -1.0}, "every port"),
        ({"fromPort": 0.0, "toPort": 65535.0}, "every port"),
        ({"fromPort": 1.0, "toPort": 65535.0}, "the ports 1 to 65535"),
        ({"fromPort": 0.0, "toPort": 0.0}, "port 0"),
        ({"fromPort": 30000.0, "toPort": "32767"}, "the ports 30000 to 32767"),
    ],
)
def test_the_ports_that_are_open_are_named(
    ports: dict[str, Any], told: str, violations: Callable[..., list[str]]
) -> None:
    props = {"ipProtocol": "tcp", "cidrIpv4": "0.0.0.0/0", **ports}
    rule = RULES["security-groups-not-open"]
    assert isinstance(rule, ResourcePolicy)

    (message,) = violations(rule, INGRESS_RULE, props)

    assert f" opens {told} to 0.0.0.0/0, the whole internet." in message
