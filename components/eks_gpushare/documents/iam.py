"""IAM policy documents, as JSON text with a stable order."""

from __future__ import annotations

import json


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


def _document(*statements: dict[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
