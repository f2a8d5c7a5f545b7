"""How many pods a node may run, against those that are on every node of EKS.

Sources, November 2026: `spec.kubelet` of https://karpenter.sh/docs/concepts/nodeclasses/,
`maxPodsPerNode` of https://eksctl.io/usage/schema/, and the add-ons that every cluster has,
https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.room_of_pools import NO_ROOM_FOR_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_ON_EVERY_NODE: Final = ("aws-node", "kube-proxy")
_OF_POOLS: Final[tuple[FieldPath, ...]] = (
    ("spec", "kubelet", "maxPods"),
    ("spec", "kubeletConfiguration", "maxPods"),
    ("spec", "template", "spec", "kubelet", "maxPods"),
)
"""Of an EC2NodeClass, a Provisioner, and a NodePool of v1beta1."""


@edge(NO_ROOM_FOR_ONE)
def max_pods(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes with GPUs, of which the first two or three pods are not for anybody."""
    said = set()
    for cluster in inventory.clusters():
        plugins = [
            each
            for each in daemons(inventory, cluster)
            if each.role == "plugin" and each.is_on is True
        ]
        for kind in gpu_nodes(inventory, cluster):
            if kind.nodes.provisioner in ("autoMode", "byHand"):
                continue
            taken = list(_ON_EVERY_NODE)
            if plugins and not kind.serves_itself:
                taken.append("the device plugin")
            for item, path in _places(kind.nodes):
                most = at(value_of(item), *path)
                is_low = isinstance(most, int) and 0 < most <= len(taken)
                if is_low and (item.source, path) not in said:
                    said.add((item.source, path))
                    yield Problem(
                        NO_ROOM_FOR_ONE,
                        item.source,
                        path[len(item.source.path) :],
                        f"{at_start(item.source.name)} sets maxPods to {most}, and "
                        f"{' and '.join(taken)} take as many of a node: no other pod fits.",
                        "Leave it out, or let it be as many as there are DaemonSets and more.",
                    )


def _places(nodes: NodeSet) -> Iterator[tuple[NodeSet | NodeLaunch, FieldPath]]:
    if nodes.provisioner == "karpenter":
        found: list[NodeSet | NodeLaunch] = [nodes]
        if isinstance(nodes.launch, NodeLaunch):
            found.append(nodes.launch)
        yield from ((each, path) for each in found for path in _OF_POOLS)
    else:
        yield nodes, (*nodes.source.path, "maxPodsPerNode")
