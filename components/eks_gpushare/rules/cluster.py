"""Rules about the cluster and who may reach it."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog import eks_versions, support
from eks_gpushare.config.cluster import ClusterByKubeconfig, ExistingCluster
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.cluster import NewCluster
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_VERSIONS = "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html"
_ENDPOINT = "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html"

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
EXTENDED_SUPPORT = Rule(
    "GPU603",
    "error",
    "A version past its standard support is asked for by name.",
    "In extended support a cluster costs six times as much per hour.",
    "https://aws.amazon.com/eks/pricing/",
)
UNKNOWN_VERSION = Rule(
    "GPU604",
    "warning",
    "The Kubernetes version is one that this release was written for.",
    "Add-on versions are not pinned for it, and its charts are untried.",
    _VERSIONS,
)
OPEN_ENDPOINT = Rule(
    "GPU608",
    "error",
    "A public endpoint is open to named networks only.",
    "EKS opens it to the whole internet when no networks are named.",
    _ENDPOINT,
)
NO_ENDPOINT = Rule(
    "GPU610",
    "error",
    "The API server has an endpoint that is used.",
    "EKS refuses a cluster without one, and networks without a public endpoint do nothing.",
    _ENDPOINT,
)
BAD_ARN = Rule(
    "GPU612",
    "error",
    "An ARN is that of an IAM role or user, or of a KMS key.",
    "EKS refuses the access entry or the key, after the cluster is there.",
    "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
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
NODES_LOCKED_OUT = Rule(
    "GPU323",
    "error",
    "Nodes reach the API server from within the VPC.",
    "Without the private endpoint they come through NAT, from an address that publicCidrs do not "
    "name and that changes with the gateway: they never join, and nothing says so.",
    _ENDPOINT,
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
_MINOR = re.compile(r"1\.\d{2}")
_PRINCIPAL = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+")
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(key|alias)/[\w/-]+")
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
        meant = re.match(r"v?(1\.\d{2})(?!\d)", given)
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


@check(Scope.CLUSTER, LOG_RETENTION, BAD_ARN)
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
    if key is not None and not _KEY.fullmatch(key):
        message = f'"{key}" is not the ARN of a KMS key.'
        fix = "Write arn:aws:kms:us-west-2:111122223333:key/..., or remove it."
        yield BAD_ARN.finding(("cluster", "logKeyArn"), message, fix)


@check(Scope.CLUSTER, OPEN_ENDPOINT, NO_ENDPOINT, NODES_LOCKED_OUT)
def endpoint(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at, given = ("cluster", "endpoint"), cluster.endpoint
    if not given.public and not given.private:
        message = "The API server would be reachable from nowhere."
        yield NO_ENDPOINT.finding(at, message, "Set private: true.")
    if given.public and not given.private:
        message = "The nodes would have to reach the API server through NAT and its public address."
        yield NODES_LOCKED_OUT.finding((*at, "private"), message, "Set private: true.")
    if given.public_cidrs and not given.public:
        message = "publicCidrs are given, but public is false."
        yield NO_ENDPOINT.finding(
            (*at, "publicCidrs"), message, "Set public: true, or remove them."
        )
    if given.public and not given.public_cidrs:
        message = "public without publicCidrs opens the API server to the whole internet."
        fix = "Add publicCidrs with the networks of those who work on it."
        yield OPEN_ENDPOINT.finding((*at, "publicCidrs"), message, fix)
    for index, cidr in enumerate(given.public_cidrs):
        place = (*at, "publicCidrs", index)
        try:
            network = ipaddress.ip_network(cidr)
        except ValueError as error:
            message = f'"{cidr}" is not a network: {error}.'
            yield OPEN_ENDPOINT.finding(place, message, "Write it as 203.0.113.0/24.")
            continue
        if network.prefixlen < _WIDEST[network.version]:
            whole = "the whole" if network.prefixlen == 0 else "a large part of the"
            message = f"{cidr} is {whole} internet."
            fix = "Name the networks of those who work on it."
            yield OPEN_ENDPOINT.finding(place, message, fix)
        elif not network.is_global and network not in _DOCUMENTATION:
            message = f"{cidr} is a private network; the public endpoint never sees it."
            fix = "Use the public addresses of those networks, or the private endpoint."
            yield OPEN_ENDPOINT.finding(place, message, fix)


_WIDEST = {4: 8, 6: 16}
"""Shortest prefix that one organisation may have, by IP version."""
_DOCUMENTATION = tuple(
    ipaddress.ip_network(cidr)
    for cidr in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
)
"""Networks of examples (RFC 5737, RFC 3849): private by the book, but meant to be replaced."""


@check(Scope.CLUSTER, BAD_ARN, NOBODY_ELSE)
def arns(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    seen: set[str] = set()
    for at, arn in _principals(cluster):
        if not _PRINCIPAL.fullmatch(arn):
            yield BAD_ARN.finding(
                at,
                f'"{arn}" is not the ARN of an IAM role or user.',
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
    if key is not None and not _KEY.fullmatch(key):
        message = f'"{key}" is not the ARN of a KMS key.'
        fix = "Write arn:aws:kms:us-west-2:111122223333:key/..., or remove it to get a new key."
        yield BAD_ARN.finding(("cluster", "secretsKeyArn"), message, fix)


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
    given = ctx.environment.model_fields_set & {"network", "system"}
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
