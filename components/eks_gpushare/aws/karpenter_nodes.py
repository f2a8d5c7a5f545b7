"""The role that nodes of Karpenter's have, and the access entry by which they join the cluster."""

import pulumi
from pulumi_aws.eks import AccessEntry
from pulumi_aws.iam import RolePolicyAttachment

from eks_gpushare.aws.node_group import NODE_POLICIES
from eks_gpushare.aws.policy_documents import trusted_by
from eks_gpushare.aws.roles import Roles


def register_node_role(
    name: str, roles: Roles, tags: dict[str, str] | None, child: pulumi.ResourceOptions
) -> tuple[pulumi.Output[str], list[pulumi.Resource]]:
    """Register a role with the policies of a node.

    Returns:
        Its ARN, and what has to be attached to it as long as there are nodes.
    """
    partition = roles.partition
    role = roles.role(f"{name}-node", trusted_by(partition.ec2_principal), tags, child)
    attached = [
        RolePolicyAttachment(
            f"{name}-node-{title}",
            role=role.name,
            policy_arn=partition.policy(policy),
            opts=child,
        )
        for title, policy in NODE_POLICIES.items()
    ]
    return role.arn, list(attached)


def register_access_entry(
    name: str,
    cluster_name: pulumi.Input[str],
    role_arn: pulumi.Input[str],
    tags: dict[str, str] | None,
    child: pulumi.ResourceOptions,
) -> AccessEntry:
    """Register the entry that lets nodes with a role join.

    EKS makes those of managed node groups itself, but none for instances that others start.
    """
    return AccessEntry(
        f"{name}-node",
        cluster_name=cluster_name,
        principal_arn=role_arn,
        type="EC2_LINUX",
        tags=tags,
        opts=child,
    )
