"""How EC2 is asked for the nodes of a managed node group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import text

if TYPE_CHECKING:
    from eks_gpushare.catalog.quotas import Capacity
    from eks_gpushare.inventory.source import Maybe

_WAYS: Final[dict[str, Capacity]] = {"SPOT": "spot", "CAPACITY_BLOCK": "capacityBlock"}


def bought_as(given: Any) -> Maybe[tuple[Capacity, ...]]:
    """By the capacity type of EKS: on demand where nothing is given.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
    """
    return UNKNOWN if given is UNKNOWN else (way_named(str(text(given))),)


def way_named(name: str) -> Capacity:
    """The way that a capacity type is, on demand where it is none."""
    return _WAYS.get(name.upper(), "onDemand")
