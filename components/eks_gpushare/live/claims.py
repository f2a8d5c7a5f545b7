"""Claims of devices and objects of Kueue, which are not read of every cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.edges.claims import NO_CLAIM
from eks_gpushare.inventory.edges.queues import NO_CLUSTER_QUEUE, NO_FLAVOR, NO_QUEUE
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_NAMED: Final = ("ResourceClaim", "ResourceClaimTemplate")
_OF_OTHERS: Final = {
    NO_CLAIM: _NAMED,
    NO_QUEUE: ("LocalQueue",),
    NO_CLUSTER_QUEUE: ("ClusterQueue",),
    NO_FLAVOR: ("ResourceFlavor",),
}
"""The kinds whose absence a rule is about."""
_SPECS: Final = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)
"""Where a Pod, what makes pods, and what makes Jobs say what a pod is."""


def names_claims(given: Object) -> bool:
    """Whether an object is a pod, or makes pods, that name claims."""
    return any(at(given, *place, "resourceClaims") for place in _SPECS)


def unjudged(objects: ClusterObjects) -> frozenset[str]:
    """Codes of what is not said: what was not read would all be missing."""
    return frozenset(
        rule.id
        for rule, kinds in _OF_OTHERS.items()
        if any(kind not in objects.by_kind or kind in objects.unread for kind in kinds)
    )
