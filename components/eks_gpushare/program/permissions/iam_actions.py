"""What a deployer has to be allowed, by type of resource: IAM actions and what they act on.

What the AWS provider calls is from its source (internal/service/* of
https://github.com/hashicorp/terraform-provider-aws), what EKS and EC2 look at in the caller's name
from the permissions of the handlers in AWS's CloudFormation schemas
(https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/supported-resources.html), resources
and condition keys from the Service Authorization Reference
(https://docs.aws.amazon.com/service-authorization/latest/reference/). Read 2026-11-24; tests in
tests/aws hold this table against all three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.permissions.iam_ec2_actions import EC2_ACTIONS, FROM_TEMPLATE
from eks_gpushare.program.permissions.iam_grants import (
    Grant,
    ec2,
    eks,
    look,
    of,
    passing,
    service_role,
)
from eks_gpushare.program.permissions.iam_karpenter_actions import KARPENTER_ACTIONS
from eks_gpushare.program.permissions.iam_metrics_actions import METRICS_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROLE = ("arn:{partition}:iam::{account}:role{path}{name}",)
_OF_ROLE = ("{role}",)
_KEYS = ("arn:{partition}:kms:{region}:{account}:key/*",)
_LOG_GROUP = (
    "arn:{partition}:logs:{region}:{account}:log-group:{name}",
    "arn:{partition}:logs:{region}:{account}:log-group:{name}:*",
)
WRITES_POLICY = "iam:PutRolePolicy"
"""What makes a role as mighty as whoever may do it likes."""
SPOT_ROLE = service_role("spot.amazonaws.com", "AWSServiceRoleForEC2Spot")
"""The role that spot instances take, which EC2 makes for itself once in an account. EKS has it made
for node groups, in the caller's name; Karpenter may not:
https://karpenter.sh/docs/troubleshooting/#missing-service-linked-role."""

ACTIONS: Mapping[str, tuple[Grant, ...]] = {
    **EC2_ACTIONS,
    **KARPENTER_ACTIONS,
    **METRICS_ACTIONS,
    "aws:cloudwatch/logGroup:LogGroup": (
        Grant(("logs:DescribeLogGroups",)),
        Grant(
            of(
                "logs",
                "CreateLogGroup DeleteLogGroup DeleteRetentionPolicy ListTagsForResource "
                "PutRetentionPolicy TagResource UntagResource",
            ),
            _LOG_GROUP,
        ),
        Grant(("logs:AssociateKmsKey", "logs:DisassociateKmsKey"), _LOG_GROUP, given="kmsKeyId"),
    ),
    "aws:eks/accessEntry:AccessEntry": (
        Grant(("eks:CreateAccessEntry",), eks("cluster/{clusterName}")),
        Grant(
            of(
                "eks",
                "DeleteAccessEntry DescribeAccessEntry TagResource UntagResource UpdateAccessEntry",
            ),
            eks("access-entry/{clusterName}/*"),
        ),
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
        Grant(
            ("eks:AssociateAccessPolicy", "eks:DisassociateAccessPolicy"),
            eks("access-entry/{clusterName}/*"),
            condition=("ArnEquals", "eks:policyArn", "{policyArn}"),
        ),
        Grant(("eks:ListAssociatedAccessPolicies",), eks("access-entry/{clusterName}/*")),
    ),
    "aws:eks/addon:Addon": (
        Grant(("eks:CreateAddon",), eks("cluster/{clusterName}")),
        Grant(
            of("eks", "DeleteAddon DescribeAddon TagResource UntagResource UpdateAddon"),
            eks("addon/{clusterName}/{addonName}/*"),
        ),
        Grant(
            ("eks:CreatePodIdentityAssociation",),
            eks("cluster/{clusterName}"),
            given="podIdentityAssociations",
        ),
        Grant(
            ("eks:DeletePodIdentityAssociation", "eks:UpdatePodIdentityAssociation"),
            eks("podidentityassociation/{clusterName}/*"),
            given="podIdentityAssociations",
        ),
        Grant(
            ("iam:PassRole",),
            ("{podIdentityAssociations.roleArn}",),
            condition=("StringEquals", "iam:PassedToService", "pods.eks.amazonaws.com"),
            given="podIdentityAssociations",
        ),
        Grant(
            ("iam:GetRole",),
            ("{podIdentityAssociations.roleArn}",),
            given="podIdentityAssociations",
        ),
    ),
    "aws:eks/cluster:Cluster": (
        Grant(("eks:CreateCluster",)),  # IAM knows no resource for it
        Grant(
            of(
                "eks",
                "DeleteCluster DescribeCluster DescribeUpdate TagResource UntagResource "
                "UpdateClusterConfig UpdateClusterVersion",
            ),
            eks("cluster/{name}"),
        ),
        look("DescribeSubnets", "DescribeVpcs"),  # EKS looks at them in the caller's name
        Grant(("iam:GetRole", "iam:ListAttachedRolePolicies"), ("{roleArn}",)),
        *passing("{roleArn}", "eks.amazonaws.com"),
        service_role("eks.amazonaws.com", "AWSServiceRoleForAmazonEKS"),
        Grant(
            ("kms:DescribeKey",),
            ("{encryptionConfig.provider.keyArn}",),
            given="encryptionConfig",
        ),
        Grant(
            ("kms:CreateGrant",),
            ("{encryptionConfig.provider.keyArn}",),
            condition=("Bool", "kms:GrantIsForAWSResource", "true"),
            given="encryptionConfig",
        ),
    ),
    "aws:eks/nodeGroup:NodeGroup": (
        Grant(("eks:CreateNodegroup",), eks("cluster/{clusterName}")),
        Grant(
            of(
                "eks",
                "DeleteNodegroup DescribeNodegroup DescribeUpdate TagResource UntagResource "
                "UpdateNodegroupConfig UpdateNodegroupVersion",
            ),
            eks("nodegroup/{clusterName}/{nodeGroupName}/*"),
        ),
        Grant(("eks:DescribeUpdate",), eks("cluster/{clusterName}")),
        # EKS sees by these whether the caller might have started the nodes.
        look(
            "DescribeLaunchTemplateVersions",
            "DescribeLaunchTemplates",
            "DescribeRouteTables",
            "DescribeSecurityGroups",
            "DescribeSubnets",
            "DescribeVpcs",
        ),
        Grant(
            ("ec2:RunInstances",),
            (
                "arn:{partition}:ec2:{region}:{account}:*",
                "arn:{partition}:ec2:{region}::image/*",
            ),
            condition=FROM_TEMPLATE,
        ),
        Grant(("ec2:RunInstances",), (), condition=FROM_TEMPLATE, shared=("subnet", "subnetIds")),
        Grant(
            ("ec2:CreateTags",),
            ec2("instance", "network-interface", "volume"),
            condition=("StringEquals", "ec2:CreateAction", "RunInstances"),
        ),
        Grant(("iam:GetRole", "iam:ListAttachedRolePolicies"), ("{nodeRoleArn}",)),
        # As AWS has it: https://docs.aws.amazon.com/step-functions/latest/dg/eks-iam.html
        *passing("{nodeRoleArn}", "eks.amazonaws.com"),
        service_role("eks-nodegroup.amazonaws.com", "AWSServiceRoleForAmazonEKSNodegroup"),
        SPOT_ROLE._replace(given="capacityType=SPOT"),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        Grant(("eks:CreatePodIdentityAssociation",), eks("cluster/{clusterName}")),
        Grant(
            of(
                "eks",
                "DeletePodIdentityAssociation DescribePodIdentityAssociation TagResource "
                "UntagResource UpdatePodIdentityAssociation",
            ),
            eks("podidentityassociation/{clusterName}/*"),
        ),
        Grant(("iam:GetRole",), ("{roleArn}",)),
        *passing("{roleArn}", "pods.eks.amazonaws.com"),
    ),
    "aws:iam/role:Role": (
        Grant(
            of(
                "iam",
                "DeleteRole GetRole ListAttachedRolePolicies ListInstanceProfilesForRole "
                "ListRolePolicies TagRole UntagRole UpdateRoleDescription",
            ),
            _ROLE,
        ),
        Grant(("iam:CreateRole", "iam:UpdateAssumeRolePolicy"), _ROLE, bounded=True),
        Grant(
            ("iam:PutRolePermissionsBoundary",),
            _ROLE,
            given="permissionsBoundary",
            bounded=True,
        ),
    ),
    "aws:iam/rolePolicy:RolePolicy": (
        Grant(("iam:GetRolePolicy",), _OF_ROLE),
        # IAM cannot tell what a policy says: what it may give at most, a boundary has to.
        Grant((WRITES_POLICY, "iam:DeleteRolePolicy"), _OF_ROLE, bounded=True),
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": (
        Grant(("iam:ListAttachedRolePolicies",), _OF_ROLE),
        # These policies and no others: who deploys cannot make a role mightier than the stack.
        Grant(
            ("iam:AttachRolePolicy", "iam:DetachRolePolicy"),
            _OF_ROLE,
            condition=("ArnEquals", "iam:PolicyARN", "{policyArn}"),
            bounded=True,
        ),
    ),
    "aws:kms/alias:Alias": (
        Grant(("kms:ListAliases",)),
        Grant(
            ("kms:CreateAlias", "kms:DeleteAlias", "kms:UpdateAlias"),
            ("arn:{partition}:kms:{region}:{account}:{name}", *_KEYS),
        ),
    ),
    "aws:kms/key:Key": (
        Grant(("kms:CreateKey",)),  # IAM knows no resource for it
        Grant(
            of(
                "kms",
                "DescribeKey DisableKeyRotation EnableKeyRotation GetKeyPolicy "
                "GetKeyRotationStatus ListResourceTags ScheduleKeyDeletion TagResource "
                "UntagResource UpdateKeyDescription",
            ),
            _KEYS,
        ),
    ),
}
"""By type of resource."""

KINDS_TELL = frozenset({"ec2", "eks", "kms"})
"""Services in whose grants above an action names what kind of resource it is for, by itself."""

OF_ANY_KIND = frozenset(
    {
        "ec2:CreateTags",
        "ec2:DeleteTags",
        "ec2:RunInstances",
        "eks:TagResource",
        "eks:UntagResource",
    }
)
"""But for these, which act on resources of every kind."""

FUNCTIONS: Mapping[str, tuple[Grant, ...]] = {
    "aws:ec2/getRouteTable:getRouteTable": (look("DescribeRouteTables"),),
    "aws:ec2/getRouteTables:getRouteTables": (look("DescribeRouteTables"),),
    "aws:ec2/getSubnet:getSubnet": (look("DescribeSubnets"),),
    "aws:ec2/getSubnets:getSubnets": (look("DescribeSubnets"),),
    "aws:ec2/getVpc:getVpc": (look("DescribeVpcAttribute", "DescribeVpcs"),),
    "aws:eks/getAddonVersion:getAddonVersion": (Grant(("eks:DescribeAddonVersions",)),),
    "aws:eks/getCluster:getCluster": (Grant(("eks:DescribeCluster",), eks("cluster/{name}")),),
    # The token is signed by the caller, and nothing is called.
    "aws:eks/getClusterAuth:getClusterAuth": (),
    "aws:iam/getSessionContext:getSessionContext": (
        Grant(("iam:GetRole",), ("arn:{partition}:iam::{account}:role/*",)),
    ),
    "aws:index/getAvailabilityZones:getAvailabilityZones": (look("DescribeAvailabilityZones"),),
    "aws:index/getCallerIdentity:getCallerIdentity": (),  # nobody can be kept from that
    "aws:index/getPartition:getPartition": (),
    "aws:index/getRegion:getRegion": (),
}
"""The same for functions that a program calls."""
