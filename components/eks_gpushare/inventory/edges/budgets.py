"""What runs out before the shares do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.shares import SYSTEM_PODS, are_more_than_pods, most_pods
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.items import NodeLaunch
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

UNREACHABLE = rule_of("GPU1190")
_TOLD = re.compile(r"(?:\bmaxPods[\"']?\s*:|--max-pods[= ]|\bmax-pods\s*=)\s*([0-9]{1,4})\b")
"""Of a NodeConfig, a kubelet and Bottlerocket."""


@edge(UNREACHABLE)
def pods_of_nodes(inventory: Inventory) -> Iterator[Judgement]:
    """Shares against the pods of a managed node."""
    for cluster in inventory.clusters():
        said: set[int] = set()
        for offer in offers(inventory, cluster).every:
            for problem in _pods(offer):
                if id(offer.kind.nodes) not in said:
                    said.add(id(offer.kind.nodes))
                    yield problem


def _pods(offer: Offer) -> Iterator[Judgement]:
    nodes, instance_type = offer.kind.nodes, offer.kind.type
    if instance_type is None or offer.resources is None:
        return
    shares = sum(count or 0 for name, count in offer.resources.items() if offer.is_shared(name))
    taken = nodes.launch.efa_only if isinstance(nodes.launch, NodeLaunch) else 0
    most = most_pods(
        instance_type,
        by_karpenter=nodes.provisioner == "karpenter",
        taken_interfaces=taken if isinstance(taken, int) else 0,
    )
    how = "beside its interfaces for EFA" if taken else "by default"
    told = [int(number) for number in _TOLD.findall(str(nodes.user_data))]
    if told and (most is None or min(told) < most):
        most, how = min(told), "as its user data says"
    if shares and nodes.max_pods is UNKNOWN:
        yield NotSeen(UNREACHABLE, nodes.source, f"the most pods of a node of {nodes.source.name}")
    if isinstance(nodes.max_pods, int) and (most is None or nodes.max_pods < most):
        most, how = nodes.max_pods, "as its node class says"
    if are_more_than_pods(shares, most):
        yield Problem(
            UNREACHABLE,
            nodes.source,
            (),
            f"A node of {nodes.source.name} advertises {shares} shares, and a "
            f"{instance_type.name} runs {most} pods {how}, about {SYSTEM_PODS} of them the "
            "system's.",
            f"Lower `replicas` so that there are {(most or 0) - SYSTEM_PODS} at most, or let the "
            f"nodes run more pods{'' if how.startswith('as its') else ' by prefix delegation'}.",
        )
