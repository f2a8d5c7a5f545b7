"""The role of Karpenter's controller, which its pods get by Pod Identity."""

from functools import partial

import pulumi
from pulumi_aws.eks import PodIdentityAssociation
from pulumi_aws.iam import RolePolicy

from eks_gpushare.aws.karpenter_policies import PURPOSES, controller_policies, read_cluster_arn
from eks_gpushare.aws.policy_documents import trusted_by
from eks_gpushare.aws.roles import Roles

SERVICE_ACCOUNT = "karpenter"
"""The account that the chart makes."""


def register_controller_role(
    name: str,
    cluster_name: pulumi.Input[str],
    cluster_arn: pulumi.Input[str],
    namespace: str,
    node_role_arn: pulumi.Input[str],
    queue_arn: pulumi.Input[str] | None,
    roles: Roles,
    tags: dict[str, str] | None,
    child: pulumi.ResourceOptions,
) -> tuple[pulumi.Output[str], list[pulumi.Resource]]:
    """Register the role and hand it to the service account of the chart.

    Args:
        name: What logical names start with.
        cluster_name: EKS cluster.
        cluster_arn: Its ARN.
        namespace: Namespace of the controller.
        node_role_arn: The one role that it may give to instances.
        queue_arn: Its queue, None where it has none.
        roles: What the role has in common with all others of the stack.
        tags: Tags of role and association.
        child: Options that name the parent.

    Returns:
        The ARN of the role, and what has to be there as long as the controller runs.
    """
    trust = trusted_by("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    role = roles.role(f"{name}-controller", trust, tags, child)
    known = pulumi.Output.all(cluster_arn, node_role_arn, queue_arn)
    policies = [
        RolePolicy(
            f"{name}-controller-{purpose}",
            role=role.name,
            policy=known.apply(partial(_policy, purpose)),
            opts=child,
        )
        for purpose in PURPOSES
        if queue_arn is not None or purpose != "interruption"
    ]
    identity = PodIdentityAssociation(
        f"{name}-controller",
        cluster_name=cluster_name,
        namespace=namespace,
        service_account=SERVICE_ACCOUNT,
        role_arn=role.arn,
        tags=tags,
        opts=child,
    )
    return role.arn, [*policies, identity]


def _policy(purpose: str, known: list[str | None]) -> str:
    arn, node_role_arn, queue_arn = known
    cluster = read_cluster_arn(arn or "")
    if cluster is None:  # the rules refuse a plain one; an output may be anything
        raise pulumi.RunError(f'cluster_arn: "{arn}" is not the ARN of an EKS cluster')
    return controller_policies(cluster, node_role_arn or "", queue_arn)[purpose]
