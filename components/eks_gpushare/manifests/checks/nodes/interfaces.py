"""EFA interfaces that a pod asks for, against those that the types of its nodes have.

EFA's device plugin makes each interface of an instance known:
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html; how many a type has at most is in
EC2's DescribeInstanceTypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.room_of_pools import NO_TYPE_HAS_IT
from eks_gpushare.sharing.efa import EFA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement


@edge(NO_TYPE_HAS_IT)
def interfaces(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods with GPUs whose nodes are all seen, with their types."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            wanted = _wanted(workload)
            places = ground.places(workload, requests)
            if not places.seen or len(places.seen) != len(places.possible):
                continue
            types = [each.kind.type for each in places.seen]
            counts = [each.efa_interfaces for each in types if each is not None]
            if len(counts) == len(types) and max(counts) < wanted:
                yield Problem(
                    NO_TYPE_HAS_IT,
                    workload.source,
                    workload.spec_path,
                    f"{at_start(workload.source.name)} asks for {wanted} of {EFA} in a pod, and "
                    f"the types of {places.seen[0].kind.nodes.source.name} have {max(counts)}.",
                    "Ask for as many as the type has, or take a type with more.",
                )


def _wanted(workload: Workload) -> int:
    """How many a pod asks for."""
    asked = [
        quantity(str(text(at(container, "resources", "limits", EFA))))
        for place, container in containers(workload.spec)
        if place[0] == "containers"
    ]
    return sum(int(each) for each in asked if each is not None)
