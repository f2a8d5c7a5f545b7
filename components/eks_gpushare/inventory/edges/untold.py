"""Who launches nodes is told of the labels and taints that they get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.labels import OWNED_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

UNTOLD_TAINT: Final = rule_of("GPU1144")
UNTOLD_LABEL: Final = rule_of("GPU1145")

_ITS_OWN: Final = ("karpenter.sh/", "karpenter.k8s.aws/", "node.kubernetes.io/", "kubernetes.io/")
"""Keys that Karpenter or the kubelet itself is told by, as for an image of one's own."""


@edge(UNTOLD_TAINT, UNTOLD_LABEL)
def nodes_are_as_told(inventory: Inventory) -> Iterator[Judgement]:
    """Of Karpenter, which knows only what stands in its NodePool."""
    for nodes in inventory.of(NodeSet):
        if nodes.provisioner != "karpenter" or not nodes.only_by_boot:
            continue
        title = at_start(nodes.source.name)
        labels = {} if nodes.labels is UNKNOWN else nodes.labels
        taints = () if nodes.taints is UNKNOWN else nodes.taints
        for taint in taints:
            if str(taint) in nodes.only_by_boot and not taint.key.startswith(_ITS_OWN):
                yield Problem(
                    UNTOLD_TAINT,
                    nodes.source,
                    ("spec", "template", "spec", "taints"),
                    f"{title} has nodes that register with the taint {taint}, by their user data, "
                    "and the NodePool has none such.",
                    "Write it among spec.template.spec.taints, or startupTaints if something "
                    "takes it away; user data then needs none.",
                )
        for key, value in labels.items():
            if key in nodes.only_by_boot and not key.startswith((*_ITS_OWN, *OWNED_PREFIXES)):
                yield Problem(
                    UNTOLD_LABEL,
                    nodes.source,
                    ("spec", "template", "metadata", "labels"),
                    f"{title} has nodes that register with the label {key}={value}, by their user "
                    "data, and the NodePool has none such.",
                    f"Write {key} among spec.template.metadata.labels; user data then needs none.",
                )
