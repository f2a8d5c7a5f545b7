"""Rules about workspaces and collectors of Amazon Managed Service for Prometheus.

That they are in the region, and that a collector gets to what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.arns import key_fault, partition_of_arn, region_of_key, workspace_of
from eks_gpushare.catalog.managed_prometheus import COLLECTED, KEPT, LEAST_SECONDS
from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.config.observability import Observability
from eks_gpushare.documents.duration import seconds
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.exporter import makes_collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.observability import MetricsStore
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_AT: Final[FieldPath] = ("observability", "prometheus")
_COLLECTOR: Final = (
    "https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-collector-how-to.html"
)

REGION = Rule(
    "GPU988",
    "error",
    "Amazon Managed Service for Prometheus, and its collector, is in the region of a stack.",
    "There is nobody to answer: the update ends once the cluster is made and paid for.",
    "https://docs.aws.amazon.com/general/latest/gr/prometheus-service.html",
)
REACH = Rule(
    "GPU989",
    "error",
    "AWS's collector reaches the API server and the pods of the cluster.",
    "It reads through interfaces in the cluster's subnets, and finds pods by the private endpoint "
    "of its API server: of another cluster, or without one, nothing is collected.",
    _COLLECTOR,
    not_alone="A component is told the cluster that it is for, and its subnets.",
)
OFTEN = Rule(
    "GPU990",
    "warning",
    "AWS's collector scrapes as often as the stack says.",
    "What is shorter than its own configuration has it is not asked of it: series are as old as "
    "they are, whatever a rule counts on.",
    _COLLECTOR,
)
KEYS = Rule(
    "GPU991",
    "error",
    "What is said of a store is about the store that it is.",
    "It changes nothing of another: what was to be kept longer, or under a key of one's own, is "
    "not, and nobody says so.",
    "https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-create-workspace.html",
)
KEY_UNSEEN = Rule(
    "GPU897",
    "warning",
    "A workspace's own key may be used by Amazon's Prometheus, and AWS's collector writes to it.",
    "Neither shows before the update: without the key no workspace is made, and where a collector "
    "may not write to it, nothing is collected and no alert fires.",
    "https://docs.aws.amazon.com/prometheus/latest/userguide/"
    "encryption-at-rest-Amazon-Service-Prometheus.html",
)
_OF_PODS: Final = {"storage_gib": "storageGiB", "storage_class": "storageClass"}
_DEFAULT_INTERVAL: Final = Observability.model_fields["interval"].default


def _store(ctx: Context) -> MetricsStore | None:
    """The store, where a collector is made for it."""
    block = ctx.environment.observability
    return block.prometheus if block is not None and makes_collector(block) else None


@check(Scope.METRICS, REGION)
def region(ctx: Context) -> Iterator[Finding]:
    store, here = _store(ctx), ctx.region
    if store is None or here is None:
        return
    if here not in COLLECTED:
        what = "has no collectors" if here in KEPT else "is not"
        message = f"Amazon Managed Service for Prometheus {what} in {here}."
        fix = "Set metrics: prometheusOperator, for a Prometheus in the cluster."
        yield REGION.finding((*_AT, "install"), message, fix)
        return
    arn = store.workspace_arn or ""
    given = workspace_of(arn)
    if (
        given is not None
        and given.region != here
        and partition_of_arn(arn) == partition_of(here).id
    ):
        message = f"The workspace is in {given.region}, and the collector is made in {here}."
        fix = f"Name a workspace in {here}, or remove the key to have one made."
        yield REGION.finding((*_AT, "workspaceArn"), message, fix)


@check(Scope.ENVIRONMENT, REACH)
def reach(ctx: Context) -> Iterator[Finding]:
    if _store(ctx) is None:
        return
    if not ctx.in_aws:
        message = "Of a cluster that is known by a kubeconfig nobody can say that it is one of EKS."
        fix = "Name the cluster: cluster: {existing: {name: ...}}; or remove install, and collect "
        yield REACH.finding((*_AT, "install"), message, f"{fix}by a collector of your own.")
    elif ctx.new_cluster is not None and not ctx.new_cluster.endpoint.private:
        message = "AWS's collector finds pods by the private endpoint, which is off."
        fix = "Set private: true; a public endpoint may stay beside it."
        yield REACH.finding(("cluster", "endpoint", "private"), message, fix)


@check(Scope.METRICS, OFTEN)
def often(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.observability
    # What every stack has by default is not its author's wish.
    wished = block is not None and block.interval != _DEFAULT_INTERVAL
    if block is None or not wished or not makes_collector(block):
        return
    known = seconds(block.interval)
    if known is not None and known < LEAST_SECONDS:
        message = f"{block.interval} is shorter than the {LEAST_SECONDS} s of AWS's collector."
        fix = f"Write {LEAST_SECONDS}s or more."
        yield OFTEN.finding(("observability", "interval"), message, fix)


@check(Scope.METRICS, KEYS, KEY_UNSEEN)
def keys(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.observability
    store = block.prometheus if block is not None else None
    if block is None or store is None:
        return
    made, key = makes_collector(block) and store.workspace_arn is None, store.kms_key_arn
    if key is not None and not made:
        message = "A key is of a workspace that the stack makes, and it makes none."
        fix = (
            "Remove it; or set metrics: managedPrometheus and install: true, without workspaceArn."
        )
        yield KEYS.finding((*_AT, "kmsKeyArn"), message, fix)
    elif key is not None:
        yield from _key(ctx, key)
    if not makes_collector(block):
        return
    for field, name in _OF_PODS.items():
        if field in store.model_fields_set:
            message = f"{name} is of a Prometheus in the cluster, and a workspace has no volume."
            yield KEYS.finding((*_AT, name), message, "Remove it.")
    if store.workspace_arn is not None and "retention_days" in store.model_fields_set:
        message = "How long a workspace keeps series is said where it is made."
        fix = "Remove it, and set it where the workspace is made."
        yield KEYS.finding((*_AT, "retentionDays"), message, fix)


def _key(ctx: Context, key: str) -> Iterator[Finding]:
    """What is wrong with the key of a workspace, which is named by itself and not by an alias."""
    here = ctx.region or "us-west-2"
    right = f"arn:{partition_of(here).id}:kms:{here}:111122223333:key/<id>"
    fault = key_fault(key) or ("is an alias, and not a key" if ":alias/" in key else None)
    if fault:
        message = f'"{key}" {fault}.'
    elif ctx.region is not None and partition_of_arn(key) != partition_of(here).id:
        message = f"The key is in {partition_of_arn(key)}, and the stack in another partition."
    elif ctx.region is not None and region_of_key(key) != ctx.region:
        message = f"The key is in {region_of_key(key)}, and the workspace in {ctx.region}."
    else:
        yield _unseen(ctx)
        return
    fix = f"Write {right}, or remove it for a key of AWS's own."
    yield KEYS.finding((*_AT, "kmsKeyArn"), message, fix)


def _unseen(ctx: Context) -> Finding:
    """What nobody sees of a key that is named rightly."""
    message = (
        "Nobody here sees what the policy of the key allows, and AWS's guide says that its "
        "collector writes to no workspace with a key of one's own."
    )
    fix = (
        "Let the policy allow kms:CreateGrant, kms:DescribeKey, kms:GenerateDataKey and "
        f"kms:Decrypt by way of aps.{ctx.region or '<region>'}.amazonaws.com, and see after the "
        "update that the workspace has series of up; or remove the key for one of AWS's own."
    )
    return KEY_UNSEEN.finding((*_AT, "kmsKeyArn"), message, fix)
