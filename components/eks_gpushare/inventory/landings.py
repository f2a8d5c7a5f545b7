"""Which nodes with GPUs the pods of a workload may be on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.inventory.scheduling import Landing, landing, lasting, with_extended_tolerations
from eks_gpushare.inventory.values import at, has_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.requests import Request


class Place(NamedTuple):
    """Nodes that have what a pod asks for, and what keeps it off them."""

    offer: Offer
    landing: Landing


def places(workload: Workload, requests: Sequence[Request], every: Sequence[Offer]) -> list[Place]:
    """The nodes that have all that the pods ask for, as far as is known."""
    spec = with_extended_tolerations(workload.spec)
    return [
        Place(offer, landing(spec, lasting(offer.kind.nodes.taints), offer.kind.label))
        for offer in every
        if all(offer.has(request.resource) is not False for request in requests)
    ]


def is_seen(workload: Workload, offer: Offer) -> bool:
    """Whether all is known that decides it, but for labels that AWS or Karpenter sets."""
    of_pods = (at(workload.spec, key) for key in ("tolerations", "nodeSelector", "affinity"))
    nodes = offer.kind.nodes
    unknown = (has_unknown(each) for each in (*of_pods, nodes.labels, nodes.taints))
    return not any(unknown)


def possible(
    workload: Workload, requests: Sequence[Request], every: Sequence[Offer]
) -> list[Offer]:
    """Those of them that nothing keeps the pods off, as far as all of it is known."""
    return [
        each.offer
        for each in places(workload, requests, every)
        if each.landing.lands is not False and is_seen(workload, each.offer)
    ]
