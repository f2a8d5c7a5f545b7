"""Whether a cluster is the one that a stack is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.connection import CannotLookError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects


def refuse_another_cluster(
    objects: ClusterObjects, stack: Stack, nodes: Sequence[LiveNode]
) -> None:
    """Refuse to compare a stack with a cluster that has nothing of it.

    Args:
        objects: What was read of the cluster.
        stack: What it should be.
        nodes: Its nodes with GPUs.

    Raises:
        CannotLookError: If that is so.
    """
    pools = {node.pool for node in nodes}
    if not stack.plans or pools & set(stack.plans):
        return
    keys = {key for given in objects.of("ConfigMap") for key in (given.get("data") or {})}
    if keys & set(stack.plans):
        return
    there = ", ".join(sorted(pools)) or "none with GPUs"
    raise CannotLookError(
        f"Nothing of {stack.name} is in {objects.whence}: its pools are "
        f"{', '.join(stack.plans)}, and those of the cluster {there}. It is another cluster, or "
        "the stack was never applied. Name the right one with --context."
    )
