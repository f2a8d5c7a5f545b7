"""What permissions make of who holds them: an administrator, the owner of most things, or less.

Asked are actions on resources that nobody has named, so that only what is allowed on whatever
there is counts. Which resources an action is on: https://docs.aws.amazon.com/service-authorization/,
read 2026-11-25.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpushare_policies.reading.permissions import CHOSEN, ActionRequest, PolicyStatement, may

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_IAM = "arn:{partition}:iam::{account}:"
_HERE = "arn:{partition}:{service}:{region}:{account}:"
_ANY = "anybody-999"

_TO_ADMINISTRATOR: Mapping[str, str] = {
    f"iam:{action}": f"{_IAM}{kind}/{_ANY}"
    for kind, actions in (
        ("role", "AttachRolePolicy PutRolePolicy UpdateAssumeRolePolicy PassRole"),
        ("user", "AttachUserPolicy PutUserPolicy CreateAccessKey"),
        ("user", "CreateLoginProfile UpdateLoginProfile"),
        ("group", "AttachGroupPolicy PutGroupPolicy AddUserToGroup"),
        ("policy", "CreatePolicyVersion SetDefaultPolicyVersion"),
    )
    for action in actions.split()
}
"""Action of IAM to what it is on; by any of these its holder is an administrator:
`privilege escalation` of https://github.com/salesforce/policy_sentry, read 2026-11-25."""

_OF_SERVICES: Mapping[str, str] = {
    "s3:DeleteObject": f"arn:{{partition}}:s3:::{_ANY}/key",
    "route53:DeleteHostedZone": f"arn:{{partition}}:route53:::hostedzone/{_ANY}",
    **{
        action: f"{_HERE}{kind}{_ANY}"
        for action, kind in (
            ("ec2:TerminateInstances", "instance/"),
            ("dynamodb:DeleteTable", "table/"),
            ("rds:DeleteDBInstance", "db:"),
            ("lambda:UpdateFunctionCode", "function:"),
            ("kms:ScheduleKeyDeletion", "key/"),
            ("secretsmanager:GetSecretValue", "secret:"),
            ("sqs:DeleteQueue", ""),
            ("sns:DeleteTopic", ""),
            ("cloudformation:DeleteStack", "stack/"),
            ("eks:DeleteCluster", "cluster/"),
            ("ecr:PutImage", "repository/"),
            ("logs:DeleteLogGroup", "log-group:"),
            ("elasticfilesystem:DeleteFileSystem", "file-system/"),
            ("ssm:SendCommand", "document/"),
        )
    },
}
"""What changes or takes something: one action of each of the services that most accounts use."""

_NOT_OF_NODES: Mapping[str, str] = {
    "sts:AssumeRole": f"{_IAM}role/{_ANY}",
    "s3:PutBucketPolicy": f"arn:{{partition}}:s3:::{_ANY}",
    "kms:Decrypt": f"{_HERE}key/{_ANY}",
    "eks:CreateAccessEntry": f"{_HERE}cluster/{_ANY}",
    "cloudformation:CreateStack": f"{_HERE}stack/{_ANY}",
    # Of services whose first action below somebody may have denied.
    "ec2:RebootInstances": f"{_HERE}instance/{_ANY}",
    "s3:DeleteBucket": f"arn:{{partition}}:s3:::{_ANY}",
    "lambda:InvokeFunction": f"{_HERE}function:{_ANY}",
    "s3:PutObject": f"arn:{{partition}}:s3:::{_ANY}/key",
    "dynamodb:DeleteItem": f"{_HERE}table/{_ANY}",
    "rds:ModifyDBInstance": f"{_HERE}db:{_ANY}",
    "secretsmanager:PutSecretValue": f"{_HERE}secret:{_ANY}",
    "sqs:PurgeQueue": f"{_HERE}{_ANY}",
    **{
        action: resource
        for action, resource in _OF_SERVICES.items()
        if action not in ("logs:DeleteLogGroup", "elasticfilesystem:DeleteFileSystem")
    },
}
"""What no node does to just any resource of an account:
https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html, read 2026-11-25."""

_CHOSEN = CHOSEN | {
    f"aws:{of}{what}" for of in ("principal", "resource") for what in ("account", "arn", "orgid")
}
"""Of who holds permissions, and of what they pick in their own account, these are right."""


def to_administrator(
    given: Sequence[PolicyStatement], bound: Sequence[PolicyStatement] | None = None
) -> str:
    """The action by which holders make themselves administrators; empty if there is none."""
    return next(_allowed(_TO_ADMINISTRATOR, given, bound), "")


def all_of_iam(
    given: Sequence[PolicyStatement], bound: Sequence[PolicyStatement] | None = None
) -> bool:
    """Whether holders may do in IAM whatever there is to do, on whatever there is."""
    actions = {"iam:AnyAction999": f"{_IAM}role/{_ANY}"}
    return any(_allowed(actions, given, bound)) and bool(to_administrator(given, bound))


def owns_most(
    given: Sequence[PolicyStatement], bound: Sequence[PolicyStatement] | None = None
) -> bool:
    """Whether holders do as they please with three quarters of those services or more."""
    found = list(_allowed(_OF_SERVICES, given, bound))
    return 4 * len(found) >= 3 * len(_OF_SERVICES)


def beyond_nodes(
    given: Sequence[PolicyStatement], bound: Sequence[PolicyStatement] | None = None
) -> str:
    """An action on any resource of its kind that nodes have no need of; empty if there is none."""
    return next(_allowed({**_TO_ADMINISTRATOR, **_NOT_OF_NODES}, given, bound), "")


def _allowed(
    actions: Mapping[str, str],
    given: Sequence[PolicyStatement],
    bound: Sequence[PolicyStatement] | None,
) -> Iterator[str]:
    """Those of some actions that are allowed, in any place that the statements name."""
    places = tuple(dict.fromkeys(_places(given)))
    for action, resource in actions.items():
        service = action.partition(":")[0]
        naming = [statement for statement in given if statement.names(action)]
        if not any(statement.allows for statement in naming):
            continue
        for partition, region, account in places:
            arn = resource.format(
                partition=partition, service=service, region=region, account=account
            )
            if may(ActionRequest(action, arn, chosen=_CHOSEN), naming, bound):
                yield action
                break


def _places(given: Iterable[PolicyStatement]) -> Iterator[tuple[str, str, str]]:
    """Partition, region and account of resources as they are written, and just any.

    Where one is a pattern, it stands for itself: `eu-*` is of `eu-*`, and of all that is wider.
    """
    yield "aws", "us-east-1", "123456789012"
    for resource in dict.fromkeys(name for statement in given for name in statement.resources):
        if found := re.match(r"arn:([^:]*):[^:]*:([^:]*):([^:]*)", resource):
            partition, region, account = found.groups()
            yield partition, region, account
