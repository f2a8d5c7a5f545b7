"""The actions that what keeps and collects metrics needs, from the sources of `iam_actions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.permissions.iam_grants import Grant, eks, look, of, service_role

if TYPE_CHECKING:
    from collections.abc import Mapping


def _aps(path: str) -> tuple[str, ...]:
    """The ARN of something of Amazon Managed Service for Prometheus."""
    return (f"arn:{{partition}}:aps:{{region}}:{{account}}:{path}",)


_SCRAPES = "arn:{partition}:eks::aws:cluster-access-policy/AmazonPrometheusScraperPolicy"
_TAGS = "ListTagsForResource TagResource UntagResource"

METRICS_ACTIONS: Mapping[str, tuple[Grant, ...]] = {
    "aws:amp/ruleGroupNamespace:RuleGroupNamespace": (
        Grant(
            of(
                "aps",
                "CreateRuleGroupsNamespace DeleteRuleGroupsNamespace DescribeRuleGroupsNamespace "
                f"PutRuleGroupsNamespace {_TAGS}",
            ),
            _aps("rulegroupsnamespace/*/{name}"),
        ),
    ),
    "aws:amp/scraper:Scraper": (
        Grant(
            ("aps:CreateScraper",),
            ("{destination.amp.workspaceArn}", *eks("cluster/{source.eks.cluster}")),
        ),
        Grant(of("aps", f"DeleteScraper DescribeScraper UpdateScraper {_TAGS}"), _aps("scraper/*")),
        Grant(("aps:UpdateScraper",), ("{destination.amp.workspaceArn}",)),
        # The service looks at these and lets its role in, in the caller's name.
        look("DescribeSecurityGroups", "DescribeSubnets"),
        Grant(
            ("eks:CreateAccessEntry", "eks:DescribeCluster"), eks("cluster/{source.eks.cluster}")
        ),
        Grant(
            ("eks:AssociateAccessPolicy",),
            eks("access-entry/{source.eks.cluster}/*"),
            # This policy and no other, or a deployer could make anybody an admin of the cluster.
            condition=("ArnEquals", "eks:policyArn", _SCRAPES),
        ),
        service_role("scraper.aps.amazonaws.com", "AWSServiceRoleForAmazonPrometheusScraper*"),
    ),
    "aws:amp/workspace:Workspace": (
        Grant(("aps:CreateWorkspace",)),  # IAM knows no resource for it
        Grant(
            of(
                "aps",
                "CreateLoggingConfiguration DeleteLoggingConfiguration DeleteWorkspace "
                "DescribeLoggingConfiguration DescribeWorkspace UpdateLoggingConfiguration "
                f"UpdateWorkspaceAlias {_TAGS}",
            ),
            _aps("workspace/*"),
        ),
        # So that AWS may write into the log group: nothing of these knows a resource.
        Grant(
            of(
                "logs",
                "CreateLogDelivery DeleteLogDelivery GetLogDelivery ListLogDeliveries "
                "PutResourcePolicy UpdateLogDelivery",
            )
        ),
        # Its guide asks for the second too, which CloudFormation's handler leaves out:
        # encryption-at-rest-Amazon-Service-Prometheus.html of its user guide.
        Grant(
            of("kms", "Decrypt DescribeKey GenerateDataKey"), ("{kmsKeyArn}",), given="kmsKeyArn"
        ),
        Grant(
            ("kms:CreateGrant",),
            ("{kmsKeyArn}",),
            condition=("Bool", "kms:GrantIsForAWSResource", "true"),
            given="kmsKeyArn",
        ),
    ),
    "aws:amp/workspaceConfiguration:WorkspaceConfiguration": (
        Grant(
            of("aps", "DescribeWorkspaceConfiguration UpdateWorkspaceConfiguration"),
            _aps("workspace/*"),
        ),
    ),
}
"""By type of resource."""
