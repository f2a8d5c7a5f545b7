"""What runs out before the shares do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.index import sharing as sharing_facts
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

UNREACHABLE = sharing_facts.PODS_FOR_SHARES.rule("GPU1190")


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


def _pods(offer: Offer) -> Iterator[Problem]:
    instance_type = offer.kind.type
    if instance_type is None or instance_type.max_pods is None or offer.resources is None:
        return
    shares = sum(count or 0 for name, count in offer.resources.items() if offer.is_shared(name))
    most = instance_type.max_pods
    if shares > most:
        nodes = offer.kind.nodes
        yield Problem(
            UNREACHABLE,
            nodes.source,
            (),
            f"A node of {nodes.source.name} advertises {shares} shares, and a "
            f"{instance_type.name} runs {most} pods by default, those of the system among them.",
            f"Lower `replicas` so that there are fewer than {most}, or let the nodes run more pods "
            "by prefix delegation.",
        )
