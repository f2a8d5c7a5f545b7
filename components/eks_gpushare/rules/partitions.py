"""Rules about AWS partitions: public AWS, GovCloud, China."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.arns import partition_of_arn
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_ARNS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"

OTHER_PARTITION = Rule(
    "GPU321",
    "error",
    "An ARN is one of the region's partition.",
    "Accounts, roles, policies and keys of one partition are unknown in all others: AWS answers "
    "that there is no such thing, after the network is there.",
    _ARNS,
    not_alone="A component is not told its region.",
)
UNBUILT_PARTITION = Rule(
    "GPU322",
    "error",
    "The region is one of public AWS, GovCloud (US) or China.",
    "How EKS, its add-ons and its GPU images are in the other partitions is not known here.",
    _ARNS,
)


@check(Scope.ENVIRONMENT, UNBUILT_PARTITION)
def built(ctx: Context) -> Iterator[Finding]:
    partition = partition_of(ctx.region)
    if ctx.in_aws and not partition.built:
        yield UNBUILT_PARTITION.finding(
            ("cluster",),
            f"{ctx.region} is a region of {partition.name}, which this version does not build in.",
            "Make the cluster there by other means and name its kubeconfig: "
            "cluster: {existing: {kubeconfig: ...}}.",
        )


@check(Scope.CLUSTER, OTHER_PARTITION)
def cluster_arns(ctx: Context) -> Iterator[Finding]:
    """For the ARNs of a cluster."""
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at: FieldPath = ("cluster",)
    for index, arn in enumerate(cluster.admins):
        yield from _fault(ctx, (*at, "admins", index), arn)
    for name, arn in (cluster.named_admins or {}).items():
        if not arn.rpartition("/")[2].startswith("known-later-"):  # an output of a program
            yield from _fault(ctx, (*at, "namedAdmins", name), arn)
    yield from _fault(ctx, (*at, "secretsKeyArn"), cluster.secrets_key_arn)
    yield from _fault(ctx, (*at, "logKeyArn"), cluster.log_key_arn)
    for name, addon in cluster.addons.by_name.items():
        for account, identity in addon.pod_identity.items():
            place = (*at, "addons", "byName", name, "podIdentity", account)
            yield from _fault(ctx, (*place, "roleArn"), identity.role_arn)
            for index, arn in enumerate(identity.policy_arns):
                yield from _fault(ctx, (*place, "policyArns", index), arn)


@check(Scope.TAGS, OTHER_PARTITION)
def boundary_arn(ctx: Context) -> Iterator[Finding]:
    """For the permissions boundary."""
    iam = ctx.environment.iam
    if iam is not None:
        yield from _fault(ctx, ("iam", "permissionsBoundary"), iam.permissions_boundary)


@check(Scope.POOL, OTHER_PARTITION)
def pool_role_arn(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """For the role of a pool's nodes."""
    yield from _fault(ctx, ("pools", name, "nodeRole"), pool.node_role)


@check(Scope.SYSTEM_NODES, OTHER_PARTITION)
def system_role_arn(ctx: Context) -> Iterator[Finding]:
    """For the role of the system nodes."""
    if ctx.environment.system is not None:
        yield from _fault(ctx, ("system", "nodeRole"), ctx.environment.system.node_role)


def _fault(ctx: Context, at: FieldPath, arn: str | None) -> Iterator[Finding]:
    given = partition_of_arn(arn or "")
    if ctx.region is None or given is None:
        return
    right = partition_of(ctx.region).id
    if given != right:
        message = f"{arn} is of the partition {given}; {ctx.region} is in {right}."
        yield OTHER_PARTITION.finding(at, message, f"Give one that begins with arn:{right}:.")


def partition_fault(at: FieldPath, arn: str, ctx: Context) -> Iterable[Finding]:
    """What is wrong with the partition of an ARN that another module has looked at."""
    return _fault(ctx, at, arn)
