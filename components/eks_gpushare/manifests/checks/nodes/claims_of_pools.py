"""Pods with claims of devices, on nodes that only Karpenter launches.

Source: `pkg/controllers/provisioning/provisioner.go` of kubernetes-sigs/karpenter, which passes
over pods with claims while `IgnoreDRARequests` holds, as it does by default (August 2026).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import PART_OF_POD, NodeSet, Workload
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import CATALOG, NodeKind
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.room_of_pools import CLAIM_FOR_KARPENTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_POOL: Final = "karpenter.sh/nodepool"


@edge(CLAIM_FOR_KARPENTER)
def claims(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods that select nodes, by the pool's name or by any label of it."""
    for cluster in inventory.clusters():
        nodes = inventory.of(NodeSet, cluster)
        for workload in inventory.of(Workload, cluster):
            spec = workload.spec
            if workload.kind in (PART_OF_POD, "DaemonSet"):
                continue
            selects = pairs(at(spec, "nodeSelector")) or required_terms(spec) is not None
            if not selects or not items(at(spec, "resourceClaims")):
                continue
            pool = _only(workload, nodes)
            if pool is not None:
                yield Problem(
                    CLAIM_FOR_KARPENTER,
                    workload.source,
                    (*workload.spec_path, *_place(workload)),
                    f"{at_start(workload.source.name)} has claims of devices and selects nodes of "
                    f"{pool.source.name}, which launches none for claims.",
                    "Select a node group of fixed size, or a static pool with replicas.",
                )


def _only(workload: Workload, nodes: Sequence[NodeSet]) -> NodeSet | None:
    """A pool that has what pods select, where no other nodes may have it."""
    found: list[tuple[NodeSet, bool | None]] = []
    for each in nodes:
        types = [] if each.instance_types is UNKNOWN else [*each.instance_types]
        kinds = [NodeKind(each, CATALOG.find(str(name))) for name in types] or [
            NodeKind(each, None)
        ]
        lands = [landing(workload.spec, each.taints, kind.label).lands for kind in kinds]
        if any(verdict is not False for verdict in lands):
            found.append((each, True if True in lands else None))
    if any(each.provisioner != "karpenter" or each.least != 0 for each, _ in found):
        return None
    return next((each for each, lands in found if lands), None)


def _place(workload: Workload) -> FieldPath:
    selector = at(workload.spec, "nodeSelector")
    key = _POOL if at(selector, _POOL) else next(iter(dict(pairs(selector))), None)
    return ("resourceClaims",) if key is None else ("nodeSelector", key)
