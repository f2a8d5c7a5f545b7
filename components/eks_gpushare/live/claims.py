"""Claims of devices, which are read of a cluster only where something names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.edges.claims import NO_CLAIM
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_NAMED: Final = ("ResourceClaim", "ResourceClaimTemplate")
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
    """Codes of what is not said: claims that were not read would all be missing."""
    is_read = all(kind in objects.by_kind and kind not in objects.unread for kind in _NAMED)
    return frozenset() if is_read else frozenset((NO_CLAIM.id,))
