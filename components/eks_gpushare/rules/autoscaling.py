"""Rules about pools whose size an autoscaler decides, the stack's own or another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.catalog.autoscaler_tags import ACCELERATOR_LABEL, ENABLED_TAG, RESOURCE_TAGS
from eks_gpushare.config.base import TakesOutput, known_fields
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.cluster_autoscaler import (
    agent_taint_keys,
    owned_tag,
    scaled_by_it,
    shows_gpus,
    template_tags,
)
from eks_gpushare.sharing.labels import MIG_LABEL
from eks_gpushare.sharing.mig_boot import boots
from eks_gpushare.sharing.mig_manager import startup_taints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

# Read in August 2026; what AWS's part does with taints is getManagedNodegroupTaints in
# cluster-autoscaler/cloudprovider/aws/aws_manager.go.
_TREE = "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler"
_FAQ = f"{_TREE}/FAQ.md"
_ON_AWS = f"{_TREE}/cloudprovider/aws/README.md"
_GPU_PROCESSOR = f"{_TREE}/processors/customresources/gpu_processor.go"

STARTUP_TAINT_UNKNOWN = Rule(
    "GPU281",
    "warning",
    "Cluster Autoscaler is told of the taint that nodes join with and lose again.",
    "At 0 nodes it reads the taints of the node group, sees that no pod tolerates this one, and "
    "adds no node; above 0 it takes a node that still has it for one where no pod fits, and adds "
    "more.",
    f"{_FAQ}#startup-taints",
)
FAILURE_TAINT_UNKNOWN = Rule(
    "GPU282",
    "info",
    "Cluster Autoscaler is told of the taint of nodes that could not make their MIG layout.",
    "It takes a living node for the model of new ones. Where that is a node with this taint, no "
    "pod fits the model, and it adds no node.",
    f"{_FAQ}#status-taints",
)
FOREIGN_AUTOSCALER = Rule(
    "GPU787",
    "info",
    "Pools with scaledBy: autoscaler have an autoscaler.",
    "Without one they keep the size that they have: updates leave it alone.",
    _ON_AWS,
    not_alone="A pool is not told what else is in its cluster.",
)
MANY_TAGS = Rule(
    "GPU789",
    "error",
    "A node group has room for the tags by which an autoscaler knows its nodes.",
    "EKS takes 50 tags, and refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html",
)
FALSE_TEMPLATE = rule_of("GPU790")
NEVER_READY = Rule(
    "GPU791",
    "warning",
    "Nodes with the accelerator label have nvidia.com/gpu.",
    "Cluster Autoscaler takes others for nodes whose GPUs are still to come, for ever: it counts "
    "their pods as gone, and stops where most nodes of a cluster are such.",
    _GPU_PROCESSOR,
)

_LATER = TakesOutput().checked_as
_MOST_TAGS = 50
"""https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html"""


@check(Scope.POOL, STARTUP_TAINT_UNKNOWN, FAILURE_TAINT_UNKNOWN)
def taints_that_go(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """The stack's own is told of them."""
    if not scaled_by_it(pool) or _own(ctx):
        return
    at = ("pools", name, "scaledBy")
    for taint in startup_taints(pool):
        yield STARTUP_TAINT_UNKNOWN.finding(
            at,
            "An autoscaler decides the size, and nodes of this pool join with the taint "
            f"{taint.key} until MIG manager is done; no pod tolerates it.",
            f"Start Cluster Autoscaler with --startup-taint={taint.key}.",
        )
    for key in agent_taint_keys(pool):
        yield STARTUP_TAINT_UNKNOWN.finding(
            at,
            "An autoscaler decides the size, and nodes of this pool join with the taint "
            f"{key} until its agent runs; other pods do not tolerate it.",
            f"Start Cluster Autoscaler with --startup-taint={key}.",
        )
    if boots(pool):
        yield FAILURE_TAINT_UNKNOWN.finding(
            at,
            "An autoscaler decides the size, and a node of this pool that cannot make its MIG "
            f"layout joins with the taint {MIG_LABEL}; no pod tolerates it.",
            f"Start Cluster Autoscaler with --status-taint={MIG_LABEL}, so that it adds others.",
        )


@check(Scope.ENVIRONMENT, FOREIGN_AUTOSCALER)
def foreign(ctx: Context) -> Iterator[Finding]:
    """One finding for all pools."""
    scaled = [name for name, pool in ctx.environment.pools.items() if scaled_by_it(pool)]
    cluster = ctx.new_cluster or ctx.named_cluster
    if not scaled or _own(ctx) or cluster is None:
        return
    tags = f"{ENABLED_TAG},{owned_tag(cluster.name)}"
    yield FOREIGN_AUTOSCALER.finding(
        ("clusterAutoscaler",),
        f"The stack installs no Cluster Autoscaler, and leaves the size of {', '.join(scaled)} to "
        "one. Tags and labels of the node groups are made for it.",
        "Add clusterAutoscaler: {}, or see that the one of the cluster starts with "
        f"--node-group-auto-discovery=asg:tag={tags} and "
        "--balance-similar-node-groups=false, and that its role allows eks:DescribeNodegroup.",
    )


@check(Scope.POOL, MANY_TAGS, FALSE_TEMPLATE)
def template_tags_of_group(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not scaled_by_it(pool):
        return
    plan = planned(ctx, name, pool)
    if plan is None:
        return
    told = template_tags(plan, ctx.catalog)
    given = ctx.environment.tags
    for key, value in given.items():
        wanted = told.get(key)
        if not key.startswith(RESOURCE_TAGS) or value in {wanted, _LATER}:
            continue
        resource = key.removeprefix(RESOURCE_TAGS)
        is_wrong = wanted is not None or resource.startswith("nvidia.com/")
        if is_wrong and not _same_amount(value, wanted):
            has = f"has {wanted}" if wanted is not None else "does not have it"
            yield FALSE_TEMPLATE.finding(
                ("tags", key),
                f"The tag says {value} {resource} of a node, and one of the pool {name} {has}.",
                "Remove it: the node group gets the tags that its pool needs.",
            )
    count = len({*given, *told})
    if count > _MOST_TAGS:
        yield MANY_TAGS.finding(
            ("tags",),
            f"The node group of {name} would have {count} tags, {len(told)} of them for the "
            f"autoscaler; EKS takes {_MOST_TAGS}.",
            f"Keep at most {_MOST_TAGS - len(told)} tags.",
        )


def _same_amount(value: str, wanted: str | None) -> bool:
    """Whether a number is written in another way, such as 10.0; storage may be known better."""
    if wanted is None or not re.fullmatch("[0-9]+", wanted):
        return wanted is not None
    return quantity(value) == quantity(wanted)


@check(Scope.POOL, NEVER_READY)
def accelerator_label(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if ACCELERATOR_LABEL not in pool.labels or not scaled_by_it(pool):
        return
    plan = planned(ctx, name, pool)
    if plan is not None and not shows_gpus(plan):
        yield NEVER_READY.finding(
            ("pools", name, "labels", ACCELERATOR_LABEL),
            "The shares of this pool have other names than nvidia.com/gpu, for which Cluster "
            "Autoscaler waits on nodes with this label.",
            "Remove the label; pools whose nodes have nvidia.com/gpu get it by themselves.",
        )


def _own(ctx: Context) -> bool:
    """Whether the stack installs an autoscaler; a pool that stands alone is not told."""
    return known_fields(ctx.environment).get("cluster_autoscaler") is not None
