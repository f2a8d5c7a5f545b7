"""IAM policy documents, as JSON text with a stable order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eks_gpushare.catalog.autoscaler_tags import AUTOSCALER_TAGS

if TYPE_CHECKING:
    from collections.abc import Sequence


def trusted_by(service: str, *actions: str) -> str:
    """A trust policy: the service may assume the role.

    Args:
        service: Service principal, for example `ec2.amazonaws.com`.
        actions: What it may do. Default: `sts:AssumeRole`.
    """
    return _document(
        {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": list(actions) or "sts:AssumeRole",
        }
    )


def writes_logs(group_arn: str) -> str:
    """What VPC flow logs need to write into one log group."""
    return _document(
        {
            "Effect": "Allow",
            "Action": [
                "logs:CreateLogStream",
                "logs:DescribeLogGroups",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            "Resource": [group_arn, f"{group_arn}:*"],
        }
    )


def scales_node_groups(partition: str, cluster: str, groups: Sequence[str]) -> str:
    """What Cluster Autoscaler needs to look at node groups, and to change the size of some.

    The actions are those of the "Full Cluster Autoscaler Features Policy" in
    cloudprovider/aws/README.md of kubernetes/autoscaler, the same from 1.33 to 1.36, read
    2026-11-22. Those that only read know no resources, but for the one of EKS. It may change what
    has the tags that EKS puts on Auto Scaling groups:
    https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html.

    Args:
        partition: ID of the AWS partition, such as aws.
        cluster: Name of the cluster.
        groups: Names of the node groups.
    """
    return _document(
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeLaunchConfigurations",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:GetInstanceTypesFromInstanceRequirements",
            ],
            "Resource": "*",
        },
        {
            "Effect": "Allow",
            "Action": "eks:DescribeNodegroup",
            "Resource": f"arn:{partition}:eks:*:*:nodegroup/{cluster}/*/*",
        },
        {
            "Effect": "Allow",
            "Action": [
                "autoscaling:SetDesiredCapacity",
                "autoscaling:TerminateInstanceInAutoScalingGroup",
            ],
            "Resource": f"arn:{partition}:autoscaling:*:*:autoScalingGroup:*",
            "Condition": {
                "StringEquals": {
                    f"aws:ResourceTag/{AUTOSCALER_TAGS}{cluster}": "owned",
                    "aws:ResourceTag/eks:nodegroup-name": sorted(groups),
                }
            },
        },
    )


def queries_workspace(arn: str, actions: tuple[str, ...]) -> str:
    """What asking one workspace of Amazon Managed Service for Prometheus takes."""
    return _document({"Effect": "Allow", "Action": list(actions), "Resource": arn})


def reads_queues(arns: tuple[str, ...], actions: tuple[str, ...]) -> str:
    """What asking how long some queues of SQS are takes."""
    return _document({"Effect": "Allow", "Action": list(actions), "Resource": list(arns)})


def same_principal(caller: str, principal: str) -> bool:
    """Whether a caller is an IAM role or user, or in a session of that role.

    STS leaves the path of a role out (`assumed-role/Name/session`); names of roles and users are
    unique in an account whatever their path, so that account, kind and name decide:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html.

    Args:
        caller: ARN as `sts get-caller-identity` gives it.
        principal: ARN of a role or user as IAM gives it.
    """
    known = _principal(caller)
    return known is not None and known == _principal(principal)


def _principal(arn: str) -> tuple[str, str, str] | None:
    """Account, kind and name."""
    parts = arn.split(":", 5)
    if len(parts) != _ARN_PARTS:
        return None
    kind, *names = parts[5].split("/")
    if kind == "assumed-role" and names:
        return parts[4], "role", names[0]
    return (parts[4], kind, names[-1]) if kind in {"role", "user"} and names else None


_ARN_PARTS = 6


def _document(*statements: dict[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
