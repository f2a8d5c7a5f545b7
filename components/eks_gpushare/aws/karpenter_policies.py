"""What Karpenter's controller may do in AWS, and who may write into its queue, as policy documents.

As Karpenter's own template has it, in six policies by purpose, each limited to one cluster, its
region and its partition, and to its account but for what other accounts share with it:
website/content/en/v1.14/getting-started/getting-started-with-karpenter/cloudformation.yaml of
aws/karpenter-provider-aws, read 2026-11-22.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

_OWNED = "kubernetes.io/cluster/{cluster}"
_NODE_POOL = "karpenter.sh/nodepool"
_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_EKS_NAME = "eks:eks-cluster-name"
_REGION = "topology.kubernetes.io/region"
_ARN_PARTS = 6


class ClusterArn(NamedTuple):
    """An ARN of an EKS cluster by its parts."""

    partition: str
    region: str
    account: str
    name: str

    @property
    def text(self) -> str:
        """The whole ARN."""
        return f"arn:{self.partition}:eks:{self.region}:{self.account}:cluster/{self.name}"

    def ec2(self, *kinds: str, account: str | None = None) -> list[str]:
        """ARNs of all resources of EC2 of these kinds, by default in the account of the cluster."""
        start = f"arn:{self.partition}:ec2:{self.region}:{account or self.account}"
        return [f"{start}:{kind}/*" for kind in kinds]


def read_cluster_arn(arn: str) -> ClusterArn | None:
    """The parts of the ARN of an EKS cluster, None if it is something else."""
    parts = arn.split(":", _ARN_PARTS - 1)
    if len(parts) != _ARN_PARTS or parts[0] != "arn" or parts[2] != "eks":
        return None
    kind, slash, name = parts[5].partition("/")
    if kind != "cluster" or not slash or not name or not all(parts[index] for index in (1, 3, 4)):
        return None
    return ClusterArn(parts[1], parts[3], parts[4], name)


def controller_policies(
    cluster: ClusterArn, node_role_arn: str, queue_arn: str | None
) -> dict[str, str]:
    """The policies of the controller by their purpose, as JSON.

    Args:
        cluster: The cluster whose nodes it makes.
        node_role_arn: The one role that it may hand to instances.
        queue_arn: The queue that tells it of interruptions; None where there is none.
    """
    found = {
        "node-lifecycle": _node_lifecycle(cluster),
        "iam-integration": _iam_integration(cluster, node_role_arn),
        "eks-integration": [_allow("eks:DescribeCluster", [cluster.text])],
        "zonal-shift": [
            _allow(
                "arc-zonal-shift:GetManagedResource",
                ["*"],
                {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": cluster.text}},
            )
        ],
        "resource-discovery": _resource_discovery(cluster),
    }
    if queue_arn is not None:
        actions = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
        found["interruption"] = [_allow(actions, [queue_arn])]
    return {purpose: _document(statements) for purpose, statements in found.items()}


PURPOSES = (
    "node-lifecycle",
    "iam-integration",
    "eks-integration",
    "interruption",
    "zonal-shift",
    "resource-discovery",
)
"""The purposes of the policies, in the order of Karpenter's own template."""


def queue_policy(queue_arn: str) -> str:
    """Who may write into the queue: EventBridge; and nobody does anything without TLS."""
    return _document(
        [
            {
                "Sid": "EventBridge",
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
            },
            {
                "Sid": "DenyHTTP",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue_arn,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ]
    )


def _node_lifecycle(cluster: ClusterArn) -> list[dict[str, Any]]:
    """Instances, fleets and launch templates that carry the tags of this cluster's nodes."""
    owned = _OWNED.format(cluster=cluster.name)
    made = cluster.ec2(
        "fleet",
        "instance",
        "volume",
        "network-interface",
        "launch-template",
        "spot-instances-request",
    )
    images = f"arn:{cluster.partition}:ec2:{cluster.region}:"
    # The owner's account is in the ARN of a subnet or reservation that another account shares:
    # https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html.
    used = cluster.ec2(
        *("security-group", "subnet", "capacity-reservation", "placement-group"), account="*"
    )
    ours = {
        "StringEquals": {f"aws:ResourceTag/{owned}": "owned"},
        "StringLike": {f"aws:ResourceTag/{_NODE_POOL}": "*"},
    }
    tagged = {f"aws:RequestTag/{owned}": "owned", f"aws:RequestTag/{_EKS_NAME}": cluster.name}
    of_a_pool = {f"aws:RequestTag/{_NODE_POOL}": "*"}
    created = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    return [
        _allow(
            ["ec2:RunInstances", "ec2:CreateFleet"],
            [f"{images}:image/*", f"{images}:snapshot/*", *used],
        ),
        _allow(
            ["ec2:RunInstances", "ec2:CreateFleet"],
            cluster.ec2("launch-template"),
            ours,
        ),
        _allow(
            ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"],
            made,
            {"StringEquals": tagged, "StringLike": of_a_pool},
        ),
        _allow(
            "ec2:CreateTags",
            made,
            {"StringEquals": {**tagged, **created}, "StringLike": of_a_pool},
        ),
        _allow(
            "ec2:CreateTags",
            cluster.ec2("instance"),
            {
                **ours,
                "StringEqualsIfExists": {f"aws:RequestTag/{_EKS_NAME}": cluster.name},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": [_EKS_NAME, "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        _allow(
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            cluster.ec2("instance", "launch-template"),
            ours,
        ),
    ]


def _iam_integration(cluster: ClusterArn, node_role_arn: str) -> list[dict[str, Any]]:
    """Instance profiles of its own, with this one role in them."""
    owned = _OWNED.format(cluster=cluster.name)
    profiles = [f"arn:{cluster.partition}:iam::{cluster.account}:instance-profile/*"]
    asked = {
        f"aws:RequestTag/{owned}": "owned",
        f"aws:RequestTag/{_EKS_NAME}": cluster.name,
        f"aws:RequestTag/{_REGION}": cluster.region,
    }
    has = {f"aws:ResourceTag/{owned}": "owned", f"aws:ResourceTag/{_REGION}": cluster.region}
    asked_class = {f"aws:RequestTag/{_NODE_CLASS}": "*"}
    has_class = {f"aws:ResourceTag/{_NODE_CLASS}": "*"}
    services = ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]
    return [
        _allow(
            "iam:PassRole",
            [node_role_arn],
            {"StringEquals": {"iam:PassedToService": services}},
        ),
        _allow(
            "iam:CreateInstanceProfile",
            profiles,
            {"StringEquals": asked, "StringLike": asked_class},
        ),
        _allow(
            "iam:TagInstanceProfile",
            profiles,
            {"StringEquals": {**has, **asked}, "StringLike": {**has_class, **asked_class}},
        ),
        _allow(
            [
                "iam:AddRoleToInstanceProfile",
                "iam:RemoveRoleFromInstanceProfile",
                "iam:DeleteInstanceProfile",
            ],
            profiles,
            {"StringEquals": has, "StringLike": has_class},
        ),
    ]


def _resource_discovery(cluster: ClusterArn) -> list[dict[str, Any]]:
    """What it reads to choose: types, offerings, prices, images, networks."""
    looks = (
        "CapacityReservations",
        "Images",
        "Instances",
        "InstanceStatus",
        "InstanceTypeOfferings",
        "InstanceTypes",
        "LaunchTemplates",
        "PlacementGroups",
        "SecurityGroups",
        "SpotPriceHistory",
        "Subnets",
    )
    parameters = f"arn:{cluster.partition}:ssm:{cluster.region}::parameter/aws/service/*"
    profiles = f"arn:{cluster.partition}:iam::{cluster.account}:instance-profile/*"
    return [
        _allow(
            [f"ec2:Describe{subject}" for subject in looks],
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": cluster.region}},
        ),
        _allow("ssm:GetParameter", [parameters]),
        _allow(["iam:ListInstanceProfiles", "pricing:GetProducts"], ["*"]),
        _allow("iam:GetInstanceProfile", [profiles]),
    ]


def _allow(
    actions: str | list[str],
    resources: list[str],
    condition: dict[str, Any] | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "Effect": "Allow",
        "Action": actions,
        "Resource": resources[0] if len(resources) == 1 else resources,
    }
    return {**found, "Condition": condition} if condition else found


def _document(statements: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})
