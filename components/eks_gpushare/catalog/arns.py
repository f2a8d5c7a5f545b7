"""ARNs of what a stack names: IAM roles, users, policies, KMS keys, Prometheus workspaces, queues.

What names look like is in botocore 1.44.5: `roleNameType`, `userNameType`, `policyNameType`,
`pathType` and `policyPathType` of iam, `AliasNameType` of kms; letters and digits are ASCII.
IDs of keys:
https://docs.aws.amazon.com/kms/latest/developerguide/concepts-keys.html. Read 2026-11-22.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from eks_gpushare.catalog.partitions import partition_of

_IAM = r"arn:aws[a-z-]*:iam::"
_NAME = r"[A-Za-z0-9_+=,.@-]"
_ROLE = re.compile(rf"{_IAM}[0-9]{{12}}:role/(?P<path>([\x21-\x7e]+/)?)(?P<name>{_NAME}+)")
_USER = re.compile(rf"{_IAM}[0-9]{{12}}:user/(?P<path>([\x21-\x7e]+/)?)(?P<name>{_NAME}+)")
_POLICY = re.compile(
    rf"{_IAM}(aws|[0-9]{{12}}):policy/(?P<path>([A-Za-z0-9.,+@=_-]+/)*)(?P<name>{_NAME}+)"
)
_KEY_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}"
_KEY = re.compile(
    rf"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):[0-9]{{12}}:"
    rf"(key/({_KEY_ID})|alias/(?P<alias>[A-Za-z0-9:/_-]{{1,250}}))"
)
_WORKSPACE = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):aps:(?P<region>[a-z0-9-]+):[0-9]{12}:"
    r"workspace/(?P<id>[0-9A-Za-z][0-9A-Za-z.-]{0,63})"
)
_OF_ACCOUNT = "(?P<account>[0-9]{12})"
_QUEUE = "(?P<name>[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}[.]fifo)"
_QUEUE_ARN = re.compile(
    rf"arn:(?P<partition>aws[a-z-]*):sqs:(?P<region>[a-z0-9-]+):{_OF_ACCOUNT}:{_QUEUE}"
)
_QUEUE_URL = re.compile(
    rf"https://sqs[.](?P<region>[a-z0-9-]+)[.](?P<domain>[a-z.]+)/{_OF_ACCOUNT}/{_QUEUE}"
)
"""https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html"""
_LONGEST = {"role": 64, "user": 64, "policy": 128}
_LONGEST_PATH = 512
"""https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html"""
_OF_SERVICES = "aws-service-role/"
_OF_AWS = "aws/"


class PrometheusWorkspace(NamedTuple):
    """A workspace of Amazon Managed Service for Prometheus.

    Attributes:
        id: its ID, such as `ws-...`.
        region: its AWS region.
        address: where it is queried, without the path of the API.

    """

    id: str
    region: str
    address: str


def workspace_of(arn: str) -> PrometheusWorkspace | None:
    """The workspace that an ARN names, None of what is no ARN of one.

    IDs as `WorkspaceId` of amp in botocore 1.44.5, addresses as in
    https://docs.aws.amazon.com/general/latest/gr/prometheus-service.html; read 2026-11-22.
    """
    matched = _WORKSPACE.fullmatch(arn)
    if matched is None:
        return None
    suffix = "amazonaws.com.cn" if matched["partition"] == "aws-cn" else "amazonaws.com"
    host = f"aps-workspaces.{matched['region']}.{suffix}"
    address = f"https://{host}/workspaces/{matched['id']}"
    return PrometheusWorkspace(matched["id"], matched["region"], address)


class Queue(NamedTuple):
    """A queue of SQS.

    Attributes:
        arn: its ARN.
        url: where it is asked.
        region: its AWS region.

    """

    arn: str
    url: str
    region: str


def queue_of(given: str) -> Queue | None:
    """The queue that an ARN or URL names, None of what is neither."""
    by_arn, by_url = _QUEUE_ARN.fullmatch(given), _QUEUE_URL.fullmatch(given)
    matched = by_arn or by_url
    if matched is None:
        return None
    region, account, name = matched["region"], matched["account"], matched["name"]
    partition = partition_of(region)
    said = partition.id if by_arn else partition.domain
    if said != matched["partition" if by_arn else "domain"] or not re.fullmatch(
        partition.regions, region
    ):
        return None
    arn = f"arn:{partition.id}:sqs:{region}:{account}:{name}"
    return Queue(arn, f"https://sqs.{region}.{partition.domain}/{account}/{name}", region)


def role_fault(arn: str) -> str | None:
    """Why a text is not the ARN of a role that can be given to something; None if it is.

    The fault goes after the ARN: "is not the ARN of an IAM role".
    """
    if ":instance-profile/" in arn:
        return "is an instance profile"
    matched = _ROLE.fullmatch(arn)
    if matched is None:
        return "is not the ARN of an IAM role"
    if matched["path"].startswith(_OF_SERVICES):
        return "is a service-linked role, which nothing but its own service can take"
    return _too_long("role", matched)


def principal_fault(arn: str) -> str | None:
    """The same for a role or user that may be an admin of a cluster."""
    matched = _USER.fullmatch(arn)
    if matched is not None:
        return _too_long("user", matched)
    if _ROLE.fullmatch(arn) is None:
        return "is not the ARN of an IAM role or user"
    return role_fault(arn)


def policy_fault(arn: str) -> str | None:
    """The same for an IAM policy, of an account or of AWS."""
    matched = _POLICY.fullmatch(arn)
    if matched is None:
        return "is not the ARN of an IAM policy"
    return _too_long("policy", matched)


def key_fault(arn: str) -> str | None:
    """The same for a KMS key or an alias of one."""
    matched = _KEY.fullmatch(arn)
    if matched is None:
        return "is not the ARN of a KMS key"
    if (matched["alias"] or "").startswith(_OF_AWS):
        return "is a key that AWS manages, whose policy nobody can change"
    return None


def region_of_key(arn: str) -> str | None:
    """The region of a KMS key; None of what is no key."""
    matched = _KEY.fullmatch(arn)
    return matched["region"] if matched else None


def partition_of_arn(arn: str) -> str | None:
    """The partition that an ARN names, such as "aws-us-gov"; None of what is no ARN."""
    matched = re.match(r"arn:(aws[a-z-]*):", arn)
    return matched[1] if matched else None


def region_of_arn(arn: str) -> str:
    """The region of what an ARN of AWS's own names; empty of what is in none."""
    return arn.split(":")[3]


def path_fault(path: str) -> str | None:
    """Why a text is not a path of IAM roles, None if it is; it goes after the path."""
    if not re.fullmatch(r"/|/[\x21-\x7e]+/", path) or len(path) > _LONGEST_PATH:
        return (
            f"is not a path of IAM: up to {_LONGEST_PATH} characters between slashes, without "
            "spaces"
        )
    if path.startswith("/aws-service-role/"):
        return "is the path that AWS keeps for service-linked roles"
    return None


def _too_long(kind: str, matched: re.Match[str]) -> str | None:
    name, most = matched["name"], _LONGEST[kind]
    if len(name) > most:
        return f"has a name of {len(name)} characters, and IAM takes {most}"
    if len(matched["path"]) + 1 > _LONGEST_PATH:
        return f"has a path of more than {_LONGEST_PATH} characters"
    return None
