"""IAM roles of service accounts, by EKS Pod Identity."""

from collections.abc import Mapping

import pulumi
from pulumi_aws.eks import PodIdentityAssociation
from pulumi_aws.iam import Role

from eks_gpushare.aws.policy_documents import trusted_by
from eks_gpushare.aws.roles import Roles


def pod_role(
    name: str, roles: Roles, tags: Mapping[str, str] | None, opts: pulumi.ResourceOptions
) -> Role:
    """A role that pods of a cluster may have.

    Args:
        name: Its logical name.
        roles: What it has in common with all others of the stack.
        tags: Its tags.
        opts: Its options.
    """
    trust = trusted_by("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    return roles.role(name, trust, tags, opts)


def pod_identity(
    name: str,
    cluster_name: pulumi.Input[str],
    namespace: pulumi.Input[str],
    account: str,
    role: Role,
    tags: Mapping[str, str] | None,
    opts: pulumi.ResourceOptions,
) -> PodIdentityAssociation:
    """Give a role to a service account. Pods that started before do not have it.

    Args:
        name: Its logical name.
        cluster_name: EKS cluster.
        namespace: Namespace of the service account.
        account: Name of the service account, which need not be there yet.
        role: The role.
        tags: Tags of the association.
        opts: Its options.
    """
    return PodIdentityAssociation(
        name,
        cluster_name=cluster_name,
        namespace=namespace,
        service_account=account,
        role_arn=role.arn,
        tags=tags,
        opts=opts,
    )
