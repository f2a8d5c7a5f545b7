"""Labels that node groups give their nodes, which their kubelets have to set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.nodes import REFUSED_LABEL
from eks_gpushare.sharing.labels import kubelet_may_set

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


@edge(REFUSED_LABEL)
def kubelets_may_set_them(inventory: Inventory) -> Iterator[Judgement]:
    """Of node groups, whose kubelets get the labels by `--node-labels`."""
    for nodes in inventory.of(NodeSet):
        if nodes.provisioner not in ("managed", "selfManaged") or nodes.labels is UNKNOWN:
            continue
        for key in nodes.labels:
            if kubelet_may_set(key):
                continue
            yield Problem(
                REFUSED_LABEL,
                nodes.source,
                ("labels", key),
                f"{at_start(nodes.source.name)} has the label {key}, which a kubelet may not give "
                "its node: the kubelet does not start, and no node joins.",
                "Take a key of your own, or one below node.kubernetes.io; give nodes that are "
                "there a role by `kubectl label`.",
            )
