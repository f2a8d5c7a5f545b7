"""Rules about how many nodes there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Nodes, Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

SIZE_ORDER = Rule(
    "GPU401",
    "error",
    "min <= desired <= max, and max is at least 1.",
    "EKS refuses the node group.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html",
)
KARPENTER_SIZES = Rule(
    "GPU402",
    "error",
    "A Karpenter pool has a maximum only.",
    "Karpenter starts nodes for pods; a minimum or desired size would be ignored.",
    "https://karpenter.sh/docs/concepts/nodepools/",
)


@check(Scope.POOL, SIZE_ORDER, KARPENTER_SIZES)
def pool_sizes(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    at = ("pools", name, "nodes")
    if pool.provisioner == "karpenter":
        most = pool.nodes.max
        if most is not None and most < 1:
            message = f"max {most} lets the pool have no node."
            yield SIZE_ORDER.finding((*at, "max"), message, "Set max to 1 or more.")
        given = [key for key in ("min", "desired") if getattr(pool.nodes, key) is not None]
        for key in given:
            yield KARPENTER_SIZES.finding(
                (*at, key),
                f"{key} means nothing to Karpenter, which starts nodes when pods need them.",
                f"Remove {key}.",
            )
    else:
        yield from size_order(at, pool.nodes)


@check(Scope.SYSTEM_NODES, SIZE_ORDER)
def system_sizes(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    if ctx.environment.system is not None:
        yield from size_order(("system", "nodes"), ctx.environment.system.nodes)


def size_order(at: FieldPath, nodes: Nodes) -> Iterator[Finding]:
    """Findings on sizes that do not fit together."""
    size = sizes(nodes)
    if size.min < 0:
        message = f"min {size.min} is less than 0."
        yield SIZE_ORDER.finding((*at, "min"), message, "Set min to 0 or more.")
    elif size.max < 1:
        message = f"max {size.max} lets there be no node."
        yield SIZE_ORDER.finding((*at, "max"), message, "Set max to 1 or more.")
    elif not size.min <= size.desired <= size.max:
        yield SIZE_ORDER.finding(
            at,
            f"min {size.min}, desired {size.desired} and max {size.max} are not in this order.",
            "Make min <= desired <= max.",
        )
