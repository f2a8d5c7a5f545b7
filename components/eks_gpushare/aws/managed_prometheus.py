"""A workspace of Amazon Managed Service for Prometheus, AWS's collector of a cluster, and rules.

Apart from the other metrics, since most stacks keep theirs elsewhere. The collector's role is
linked to the service, and EKS lets nobody but that service make an access entry for such a role:
it is made with the collector, with AWS's policy AmazonPrometheusScraperPolicy, and goes with it.
"""

from collections.abc import Mapping

import pulumi
from pulumi_aws.amp import RuleGroupNamespace, Scraper, Workspace, WorkspaceConfiguration
from pulumi_aws.cloudwatch import LogGroup

from eks_gpushare.aws.refs import CollectedRefs, WorkspaceRefs
from eks_gpushare.catalog.arns import region_of_arn
from eks_gpushare.config.observability import MetricsStore
from eks_gpushare.sharing.monitoring.groups import OBJECT_NAME
from eks_gpushare.sharing.monitoring.managed import given_workspace

_LOG_DAYS = 30
_LOG_GROUPS = "/aws/vendedlogs/prometheus/"
"""What names of log groups begin with that AWS writes to by one policy for all, whose length is
limited (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html)."""
_LONGEST_ALIAS = 100


def register_managed(
    name: str,
    store: MetricsStore,
    collected: CollectedRefs,
    scraped: str,
    rules: str,
    tags: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> WorkspaceRefs | None:
    """Register them; the workspace unless one is given.

    Args:
        name: What their logical names start with.
        store: The block's store.
        collected: The cluster.
        scraped: What the collector is told, as YAML.
        rules: The file of rules, as YAML.
        tags: Tags of all of it.
        opts: Options that name the parent.

    Returns:
        The workspace, where it is made.
    """
    given_tags = dict(tags) or None
    workspace_id = given_workspace(store)
    arn: pulumi.Input[str] = store.workspace_arn or ""
    of_workspace: pulumi.Input[str] = workspace_id or ""
    made = None
    if workspace_id is None:
        workspace = _workspace(name, store, given_tags, opts)
        arn, of_workspace = workspace.arn, workspace.id
        address = workspace.prometheus_endpoint.apply(lambda given: given.rstrip("/"))
        made = WorkspaceRefs(workspace.arn, address, workspace.arn.apply(region_of_arn))
    RuleGroupNamespace(
        f"{name}-workspace-rules",
        name=OBJECT_NAME,
        workspace_id=of_workspace,
        data=rules,
        tags=given_tags,
        opts=opts,
    )
    Scraper(
        f"{name}-collector",
        alias=name[:_LONGEST_ALIAS],
        destination={"amp": {"workspace_arn": arn}},
        source={
            "eks": {
                "cluster_arn": collected.cluster_arn,
                "subnet_ids": collected.subnet_ids,
                "security_group_ids": collected.security_group_ids,
            }
        },
        scrape_configuration=scraped,
        tags=given_tags,
        opts=opts,
    )
    return made


def _workspace(
    name: str, store: MetricsStore, tags: dict[str, str] | None, opts: pulumi.ResourceOptions
) -> Workspace:
    """A workspace that says in a log group which of its rules fail, and keeps series for a time."""
    logs = LogGroup(
        f"{name}-workspace-logs",
        name_prefix=f"{_LOG_GROUPS}{name}-",
        retention_in_days=_LOG_DAYS,
        tags=tags,
        opts=opts,
    )
    workspace = Workspace(
        f"{name}-workspace",
        alias=name[:_LONGEST_ALIAS],
        kms_key_arn=store.kms_key_arn,
        logging_configuration={"log_group_arn": logs.arn.apply(lambda arn: f"{arn}:*")},
        tags=tags,
        opts=opts,
    )
    WorkspaceConfiguration(
        f"{name}-workspace-configuration",
        workspace_id=workspace.id,
        retention_period_in_days=store.retention_days,
        opts=opts,
    )
    return workspace
