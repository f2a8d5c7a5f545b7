"""Pools of GPU nodes whose pods Karpenter moves, and what keeps it from that.

Source: https://karpenter.sh/docs/concepts/disruption/#controls, 1.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.karpenter_pools import DEFAULT_POLICY, moves_pods
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from eks_gpushare.manifests.plain import items, mapping
from eks_gpushare.manifests.readers.karpenter import is_excerpt
from eks_gpushare.manifests.rules.karpenter_pools import BUSY_CONSOLIDATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement

_STAYS: Final = "karpenter.sh/do-not-disrupt"


@edge(BUSY_CONSOLIDATION)
def moved_pods(inventory: Inventory) -> Iterator[Judgement]:
    """Of NodePools of types that all have GPUs, unless all pods for GPUs say that they stay."""
    for cluster in inventory.clusters():
        pools = [each for each in inventory.of(NodeSet, cluster) if _is_whole_pool(each)]
        workloads = [workload for workload, _ in gpu_workloads(inventory, cluster)]
        stay = bool(workloads) and all(map(_stays, workloads))
        for pool in () if stay else pools:
            yield from _judged(pool)


def _is_whole_pool(nodes: NodeSet) -> bool:
    value = getattr(nodes.source.document, "value", None)
    return (
        at(value, "kind") == "NodePool"
        and bool(nodes.instance_types)
        and has_gpus(nodes)
        and not is_excerpt(nodes.source, value)
    )


def _stays(workload: Workload) -> bool:
    """Whether pods keep their node, or may: what is written above them is not all known."""
    value, path = getattr(workload.source.document, "value", None), workload.spec_path
    return at(value, *path[:-1], "metadata", "annotations", _STAYS) in ("true", UNKNOWN)


def _judged(pool: NodeSet) -> Iterator[Problem]:
    spec: Any = at(getattr(pool.source.document, "value", None), "spec")
    disruption = at(spec, "disruption")
    policy, after = (at(disruption, key) for key in ("consolidationPolicy", "consolidateAfter"))
    # Of a static pool Karpenter reads none.
    if at(spec, "replicas") is not None or has_unknown(disruption):
        return
    if at(spec, "template", "metadata", "annotations", _STAYS) in ("true", UNKNOWN):
        return  # its nodes are not given back while pods run
    if moves_pods(policy, after, map(mapping, items(at(disruption, "budgets")))):
        given = f"With {policy}" if policy else f"With {DEFAULT_POLICY}, its default,"
        yield Problem(
            BUSY_CONSOLIDATION,
            pool.source,
            ("spec", "disruption", "consolidationPolicy"),
            f"{given} Karpenter moves running pods from one GPU node to another.",
            "Write WhenEmpty, or a budget of no nodes for the reason Underutilized.",
        )
