"""Device plugins that are for nodes of EKS Auto Mode alone, which have one that comes with them.

Source: https://docs.aws.amazon.com/eks/latest/userguide/auto-accelerated.html and
associate-workload.html, by whose label such nodes are chosen; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.engines import TWO_PLUGINS
from eks_gpushare.inventory.matching import meets_expression, required_terms
from eks_gpushare.inventory.nodes import COMPUTE_TYPE, gpu_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


@edge(TWO_PLUGINS)
def on_auto_mode(inventory: Inventory) -> Iterator[Judgement]:
    """Where such nodes are declared, the plugin is held against these."""
    for cluster in inventory.clusters():
        if any(kind.nodes.provisioner == "autoMode" for kind in gpu_nodes(inventory, cluster)):
            continue
        for daemon in daemons(inventory, cluster):
            if daemon.role == "plugin" and daemon.is_on and _is_for_auto_mode(daemon.spec):
                yield Problem(
                    TWO_PLUGINS,
                    daemon.source,
                    daemon.place,
                    f"{at_start(daemon.title)} is for nodes with {COMPUTE_TYPE}=auto, where EKS "
                    "Auto Mode has a device plugin of its own, which shares nothing.",
                    "Remove it, and share GPUs on nodes of a node group or of Karpenter.",
                )


def _is_for_auto_mode(spec: Any) -> bool:
    if text(at(spec, "nodeSelector", COMPUTE_TYPE)) == "auto":
        return True
    terms = required_terms(spec)
    return bool(items(terms)) and all(
        any(
            at(each, "key") == COMPUTE_TYPE
            and meets_expression(each, lambda _: "auto")
            and meets_expression(each, lambda _: None) is False
            for each in items(at(term, "matchExpressions"))
        )
        for term in items(terms)
        if term is not UNKNOWN
    )
