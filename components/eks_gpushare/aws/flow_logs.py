"""Flow logs of a VPC.

Apart from its network, since most stacks have none and nothing else needs the CloudWatch package.
"""

import pulumi
from pulumi_aws.cloudwatch import LogGroup
from pulumi_aws.ec2 import FlowLog
from pulumi_aws.iam import RolePolicy

from eks_gpushare.aws.policy_documents import trusted_by, writes_logs
from eks_gpushare.aws.roles import Roles

_DAYS = 30


def flow_logs(
    name: str,
    vpc_id: pulumi.Input[str],
    roles: Roles,
    tags: dict[str, str],
    child: pulumi.ResourceOptions,
) -> None:
    """Record the rejected traffic of a VPC, kept for 30 days.

    Args:
        name: Name of all four resources.
        vpc_id: The VPC.
        roles: What the role has in common with all others of the stack.
        tags: Tags of all that has any.
        child: Options that name the parent.
    """
    group = LogGroup(name, retention_in_days=_DAYS, tags=tags, opts=child)
    role = roles.role(name, trusted_by("vpc-flow-logs.amazonaws.com"), tags, child)
    RolePolicy(name, role=role.name, policy=group.arn.apply(writes_logs), opts=child)
    FlowLog(
        name,
        vpc_id=vpc_id,
        traffic_type="REJECT",
        log_destination=group.arn,
        iam_role_arn=role.arn,
        tags=tags,
        opts=child,
    )
