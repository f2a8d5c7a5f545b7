"""What AWS says of a cluster: health of node groups and add-ons, insights, addresses and quotas.

Read by boto3, which `eks-gpushare-checks[aws]` brings, and by describing calls alone. What may not
be described is unknown, as of the cluster itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.live.connection import CannotLookError, in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

ACTIONS: Final = (
    *("eks:DescribeCluster", "eks:ListNodegroups", "eks:DescribeNodegroup"),
    *("eks:ListAddons", "eks:DescribeAddon", "ec2:DescribeSubnets"),
    *("eks:ListInsights", "eks:DescribeInsight", "servicequotas:GetServiceQuota"),
)
"""Actions of IAM that it takes, all of which read."""
_DENIED: Final = frozenset(("AccessDenied", "AccessDeniedException", "UnauthorizedOperation"))
_GONE: Final = "ResourceNotFoundException"
_HOW_TO_INSTALL: Final = "pip install 'eks-gpushare-checks[aws]'"


class Unsound(NamedTuple):
    """Something that EKS finds wrong with one of its resources."""

    code: str
    """As the API has it: `AsgInstanceLaunchFailures`."""
    message: str
    resources: tuple[str, ...] = ()
    """IDs of what it is about."""


class ManagedNodeGroup(NamedTuple):
    """A managed node group."""

    name: str
    status: str
    """`ACTIVE`, `DEGRADED`, `CREATE_FAILED`, ..."""
    issues: tuple[Unsound, ...]
    subnets: tuple[str, ...]
    release: str = ""
    """Of its image, such as `1.35.8-20260930`; empty of an image of one's own."""


class InstalledAddon(NamedTuple):
    """An add-on of EKS."""

    name: str
    status: str
    issues: tuple[Unsound, ...]


class UpgradeInsight(NamedTuple):
    """What EKS has found that stands in the way of an upgrade."""

    name: str
    status: str
    """`WARNING` or `ERROR`."""
    reason: str
    version: str
    """Of Kubernetes, to which the upgrade would be."""
    recommendation: str
    resources: tuple[str, ...]
    """What it is about, as Kubernetes or AWS names it."""


@dataclass(slots=True)
class AwsSide:
    """What AWS says."""

    groups: list[ManagedNodeGroup] = field(default_factory=list)
    addons: list[InstalledAddon] = field(default_factory=list)
    free_addresses: dict[str, int] = field(default_factory=dict)
    """By subnet of a node group."""
    insights: list[UpgradeInsight] = field(default_factory=list)
    quotas: dict[str, float] = field(default_factory=dict)
    """What the account has of EC2's quotas, by code."""
    unread: dict[str, str] = field(default_factory=dict)
    """What could not be asked, with why."""


def read_aws(cluster: str, region: str | None, quotas: Collection[str] = ()) -> AwsSide:
    """What AWS says of a cluster, with the credentials that boto3 finds.

    Args:
        cluster: Its name in EKS.
        region: Its region. Default: that of the environment or the profile.
        quotas: Codes of EC2's quotas to ask for.

    Raises:
        CannotLookError: If there are no credentials, no region or no such cluster.
    """
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise CannotLookError(f"--aws needs boto3: {_HOW_TO_INSTALL}.") from None
    try:
        session = boto3.Session(region_name=region)
        eks, ec2 = session.client("eks"), session.client("ec2")
        eks.describe_cluster(name=cluster)
    except ClientError as error:
        raise CannotLookError(_of_cluster(cluster, region, error)) from None
    except BotoCoreError as error:  # no credentials, no region, no route
        raise CannotLookError(f"AWS cannot be asked: {in_short(str(error))}.") from None
    found = AwsSide()

    def ask(action: str, what: Callable[[], None]) -> None:
        try:
            what()
        except ClientError as error:
            found.unread[action] = _why(action, error)
        except BotoCoreError as error:
            found.unread[action] = f"AWS did not answer: {in_short(str(error))}"

    ask("eks:DescribeNodegroup", lambda: found.groups.extend(_groups(eks, cluster)))
    ask("eks:DescribeAddon", lambda: found.addons.extend(_addons(eks, cluster)))
    ask("eks:DescribeInsight", lambda: found.insights.extend(_insights(eks, cluster)))
    if quotas:
        service = session.client("service-quotas")
        ask(
            "servicequotas:GetServiceQuota",
            lambda: found.quotas.update((code, _quota(service, code)) for code in sorted(quotas)),
        )
    subnets = sorted({subnet for group in found.groups for subnet in group.subnets})
    if subnets:
        ask("ec2:DescribeSubnets", lambda: found.free_addresses.update(_free(ec2, subnets)))
    return found


def _groups(eks: Any, cluster: str) -> Iterator[ManagedNodeGroup]:
    for page in eks.get_paginator("list_nodegroups").paginate(clusterName=cluster):
        for name in page["nodegroups"]:
            given = eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
            issues = tuple(_issues(given))
            subnets, release = tuple(given.get("subnets") or ()), given.get("releaseVersion") or ""
            yield ManagedNodeGroup(name, given["status"], issues, subnets, release)


def _addons(eks: Any, cluster: str) -> Iterator[InstalledAddon]:
    for page in eks.get_paginator("list_addons").paginate(clusterName=cluster):
        for name in page["addons"]:
            given = eks.describe_addon(clusterName=cluster, addonName=name)["addon"]
            yield InstalledAddon(name, given["status"], tuple(_issues(given)))


def _insights(eks: Any, cluster: str) -> Iterator[UpgradeInsight]:
    wanted = {"categories": ["UPGRADE_READINESS"], "statuses": ["WARNING", "ERROR"]}
    pages = eks.get_paginator("list_insights").paginate(clusterName=cluster, filter=wanted)
    for summary in (each for page in pages for each in page["insights"]):
        given = eks.describe_insight(clusterName=cluster, id=summary["id"])["insight"]
        said = given.get("insightStatus") or {}
        yield UpgradeInsight(
            given.get("name", summary["id"]),
            said.get("status", "WARNING"),
            said.get("reason", ""),
            given.get("kubernetesVersion", ""),
            given.get("recommendation", ""),
            tuple(
                named
                for each in given.get("resources") or ()
                if (named := each.get("kubernetesResourceUri") or each.get("arn"))
            ),
        )


def _quota(service: Any, code: str) -> float:
    given = service.get_service_quota(ServiceCode="ec2", QuotaCode=code)
    return float(given["Quota"]["Value"])


def _issues(given: Any) -> Iterator[Unsound]:
    for issue in (given.get("health") or {}).get("issues") or ():
        resources = tuple(issue.get("resourceIds") or ())
        yield Unsound(issue.get("code", "Unknown"), issue.get("message", ""), resources)


def _free(ec2: Any, subnets: Sequence[str]) -> Iterator[tuple[str, int]]:
    for page in ec2.get_paginator("describe_subnets").paginate(SubnetIds=list(subnets)):
        for subnet in page["Subnets"]:
            yield subnet["SubnetId"], subnet["AvailableIpAddressCount"]


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _of_cluster(cluster: str, region: str | None, error: Any) -> str:
    where = f" in {region}" if region else ""
    if _code(error) == _GONE:
        return (
            f"There is no EKS cluster {cluster}{where} in this account: name it by --cluster, its "
            "region by --region, and the account by AWS_PROFILE."
        )
    if _code(error) in _DENIED:
        return f"eks:DescribeCluster of {cluster}{where} is not allowed: {in_short(str(error))}."
    return f"AWS cannot be asked of {cluster}{where}: {in_short(str(error))}."


def _why(action: str, error: Any) -> str:
    if _code(error) in _DENIED:
        return f"{action} is not allowed; docs/verify.md has the actions that --aws takes"
    return in_short(str(error))
