"""Rules about the cluster and who may reach it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog import eks_versions, support
from eks_gpushare.catalog.arns import key_fault, partition_of_arn, principal_fault, region_of_key
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.config.cluster import ClusterByKubeconfig, ExistingCluster
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.cluster import NewCluster
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_VERSIONS = "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html"

BAD_VERSION = Rule(
    "GPU601",
    "error",
    "A Kubernetes version is a minor version.",
    "EKS takes 1.35, and chooses the patch version itself.",
    _VERSIONS,
)
OUT_OF_SUPPORT = Rule(
    "GPU602",
    "error",
    "The Kubernetes version is supported by EKS.",
    "EKS refuses new clusters of such a version and upgrades existing ones by itself.",
    _VERSIONS,
)
EXTENDED_SUPPORT = rule_of("GPU603")
UNKNOWN_VERSION = Rule(
    "GPU604",
    "warning",
    "The Kubernetes version is one that this release was written for.",
    "Add-on versions are not pinned for it, and its charts are untried.",
    _VERSIONS,
)
BAD_ARN = Rule(
    "GPU612",
    "error",
    "An ARN is that of an IAM role or user, or of a KMS key.",
    "EKS refuses the access entry or the key, after the cluster is there.",
    "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
)
OTHER_REGION = Rule(
    "GPU436",
    "error",
    "A KMS key is in the region of the stack.",
    "EKS and CloudWatch refuse a key of another region; one that is replicated has an ARN in each.",
    "https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html",
    not_alone="A component is not told its region.",
)
NOBODY_ELSE = Rule(
    "GPU613",
    "warning",
    "Somebody besides the one who ran Pulumi may use the cluster.",
    "Only the identity that created the cluster is its admin.",
    "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
)
ENDING_SUPPORT = Rule(
    "GPU614",
    "warning",
    "Standard support lasts for a while yet.",
    "EKS upgrades the control plane by itself on the day it ends, and nodes then lag behind.",
    _VERSIONS,
)
NOT_FOR_KUBECONFIG = Rule(
    "GPU615",
    "error",
    "A cluster known by its kubeconfig gets nothing from AWS.",
    "Node groups, networks and system nodes need an EKS cluster.",
    "https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/",
)
LOG_RETENTION = Rule(
    "GPU324",
    "error",
    "Logs are kept for a number of days that CloudWatch has.",
    "CloudWatch refuses the log group, and with it the cluster.",
    "https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html",
)

LOG_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""Numbers of days that CloudWatch keeps logs, as the link of `LOG_RETENTION` has them."""
_MINOR = re.compile(r"1\.[0-9]{2}")
_SOON_DAYS = 60


@check(
    Scope.CLUSTER, BAD_VERSION, OUT_OF_SUPPORT, EXTENDED_SUPPORT, UNKNOWN_VERSION, ENDING_SUPPORT
)
def version(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at, given = ("cluster", "version"), cluster.version
    current = [v for v in eks_versions() if support(v, ctx.today) == "standard"]
    newest = current[-1] if current else max(eks_versions())
    if not _MINOR.fullmatch(given):
        message = f'"{given}" is not a minor version of Kubernetes.'
        meant = re.search(r"(?<![0-9.])(1\.[0-9]{2})(?![0-9])", given)
        fix = f'Write it as "{meant[1] if meant else newest}".'
        yield BAD_VERSION.finding(at, message, fix)
        return
    state = support(given, ctx.today)
    if state == "ended":
        ended = eks_versions()[given].extended_until
        message = f"EKS ended its support of Kubernetes {given} on {ended}."
        yield OUT_OF_SUPPORT.finding(at, message, f'Use "{newest}".')
    elif state == "unknown" and given < min(eks_versions()):
        message = f"EKS no longer supports Kubernetes {given}."
        yield OUT_OF_SUPPORT.finding(at, message, f'Use "{newest}".')
    elif state == "extended" and cluster.support_type == "standard":
        ended = eks_versions()[given].standard_until
        yield EXTENDED_SUPPORT.finding(
            at,
            f"Standard support of Kubernetes {given} ended on {ended}.",
            f'Use "{newest}", or set supportType: extended and pay for it.',
        )
    elif state == "unknown":
        known = ", ".join(eks_versions())
        message = f"Kubernetes {given} is not in the catalog, which has {known}."
        yield UNKNOWN_VERSION.finding(
            at, message, "Name its add-ons under cluster.addons.versions."
        )
    elif state == "standard":
        until = eks_versions()[given].standard_until
        if until is not None and (until - ctx.today).days <= _SOON_DAYS:
            message = f"Standard support of Kubernetes {given} ends on {until}."
            yield ENDING_SUPPORT.finding(at, message, f'Plan the upgrade to "{newest}".')


@check(Scope.CLUSTER, LOG_RETENTION, BAD_ARN, OTHER_REGION)
def logs(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    days, key = cluster.log_retention_days, cluster.log_key_arn
    if days is not None and days not in LOG_DAYS:
        near = min(LOG_DAYS, key=lambda each: abs(each - days))
        known = ", ".join(map(str, LOG_DAYS))
        message = f"{days} is not a number of days that CloudWatch keeps logs: {known}."
        yield LOG_RETENTION.finding(("cluster", "logRetentionDays"), message, f"Use {near}.")
    if key is not None and days is None:
        message = "The stack makes no log group, which the key would be for."
        fix = "Add logRetentionDays, or remove the key."
        yield LOG_RETENTION.finding(("cluster", "logKeyArn"), message, fix)
    if key is not None:
        yield from _key(ctx, ("cluster", "logKeyArn"), key, "remove it")


@check(Scope.CLUSTER, BAD_ARN, NOBODY_ELSE, OTHER_REGION)
def arns(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    seen: set[str] = set()
    for at, arn in _principals(cluster):
        if fault := principal_fault(arn):
            yield BAD_ARN.finding(
                at,
                f'"{arn}" {fault}.',
                "Write arn:aws:iam::111122223333:role/Platform; of an assumed role, give the role.",
            )
        elif arn in seen:
            yield BAD_ARN.finding(at, f"{arn} stands twice.", "Remove one of the two.")
        seen.add(arn)
    if not seen:
        message = "Only the identity that creates the cluster will have access."
        fix = "Add the IAM roles of those who run the cluster."
        yield NOBODY_ELSE.finding(("cluster", "admins"), message, fix)
    key = cluster.secrets_key_arn
    if key is not None:
        yield from _key(ctx, ("cluster", "secretsKeyArn"), key, "remove it to get a new key")


def _key(ctx: Context, at: FieldPath, key: str, otherwise: str) -> Iterator[Finding]:
    """What is wrong with the ARN of a key; one of another partition has a rule of its own."""
    region = ctx.region or "us-west-2"
    right = f"arn:{partition_of(region).id}:kms:{region}:111122223333:key/<id>"
    if fault := key_fault(key):
        fix = f"Write {right}, or {otherwise}."
        yield BAD_ARN.finding(at, f'"{key}" {fault}.', fix)
    elif (
        ctx.region is not None
        and partition_of_arn(key) == partition_of(ctx.region).id
        and region_of_key(key) != ctx.region
    ):
        message = f"The key is in {region_of_key(key)}; the cluster is in {ctx.region}."
        yield OTHER_REGION.finding(at, message, f"Use a key of {ctx.region}, or {otherwise}.")


def _principals(cluster: NewCluster) -> Iterator[tuple[FieldPath, str]]:
    for index, arn in enumerate(cluster.admins):
        yield ("cluster", "admins", index), arn
    for name, arn in (cluster.named_admins or {}).items():
        yield ("cluster", "namedAdmins", name), arn


@check(Scope.ENVIRONMENT, NOT_FOR_KUBECONFIG)
def kubeconfig(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.environment.cluster
    if not isinstance(cluster, ExistingCluster) or not isinstance(
        cluster.existing, ClusterByKubeconfig
    ):
        return
    if not cluster.existing.kubeconfig.strip():
        message = "The path is empty."
        at = ("cluster", "existing", "kubeconfig")
        yield NOT_FOR_KUBECONFIG.finding(at, message, "Give the path of a kubeconfig file.")
    given = ctx.environment.model_fields_set & {"karpenter", "network", "system"}
    for key in sorted(given):
        message = "The stack makes nothing in AWS, where the cluster is known by its kubeconfig."
        yield NOT_FOR_KUBECONFIG.finding((key,), message, f"Remove {key}.")
    for name, pool in ctx.environment.pools.items():
        if pool.provisioner != "existing":
            yield NOT_FOR_KUBECONFIG.finding(
                ("pools", name, "provisioner"),
                f"{pool.provisioner} makes nodes in AWS, where this stack makes nothing.",
                "Set provisioner: existing, or name the EKS cluster: existing: {name: ...}.",
            )
