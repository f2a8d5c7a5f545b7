"""Rules about how many nodes there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.nodes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import NodeCounts, Pool
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
    "A Karpenter pool has a maximum only, and a static one a desired size.",
    "Karpenter starts nodes for pods, or keeps as many as a static pool says; another size would "
    "be ignored.",
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
        yield from _static(at, pool.nodes) if pool.is_static else _dynamic(at, pool.nodes)
    else:
        yield from size_order(at, pool.nodes)


def _dynamic(at: FieldPath, nodes: NodeCounts) -> Iterator[Finding]:
    """For a pool that grows and shrinks with its pods."""
    for key in ("min", "desired"):
        if getattr(nodes, key) is not None:
            yield KARPENTER_SIZES.finding(
                (*at, key),
                f"{key} means nothing to Karpenter, which starts nodes when pods need them.",
                f"Remove {key}; for nodes that are always there set karpenter: {{static: true}} "
                "with desired, or warm.",
            )


def _static(at: FieldPath, nodes: NodeCounts) -> Iterator[Finding]:
    """For a pool of which Karpenter keeps so many nodes."""
    desired, most = nodes.desired, nodes.max
    if nodes.min is not None:
        message = "min means nothing to a static pool, which has as many nodes as desired says."
        yield KARPENTER_SIZES.finding((*at, "min"), message, "Remove min, and set desired.")
    if desired is None:
        return
    if desired < 0:
        message = f"desired {desired} is less than 0."
        yield SIZE_ORDER.finding((*at, "desired"), message, "Set desired to 0 or more.")
    elif most is not None and 1 <= most < desired:
        message = f"desired {desired} and max {most} are not in this order."
        yield SIZE_ORDER.finding(at, message, "Make desired <= max.")


@check(Scope.SYSTEM_NODES, SIZE_ORDER)
def system_sizes(ctx: Context) -> Iterator[Finding]:
    """For the system nodes."""
    if ctx.environment.system is not None:
        yield from size_order(("system", "nodes"), ctx.environment.system.nodes)


def size_order(at: FieldPath, nodes: NodeCounts) -> Iterator[Finding]:
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
