"""What the limits of a Karpenter NodePool leave: whether one more node may come.

Karpenter launches none that would take the pool above a limit, also where it is not reached yet:
https://karpenter.sh/docs/concepts/nodepools/#speclimits.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.catalog import Catalog
from eks_gpushare.inventory.values import at
from eks_gpushare.live.amounts import quantity
from eks_gpushare.sharing.nodes import allocatable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.live.pods import Object

_PODS: Final = 110
_MIB: Final = 1024**2
_CATALOG: Final = Catalog()


class ReachedLimit(NamedTuple):
    """A limit that keeps a node of any of a pool's types from coming."""

    instance_type: str
    """The first of them."""
    resource: str
    limit: Decimal
    has: Decimal
    """What the pool's nodes have of it, as Karpenter counts."""
    one: Decimal
    """What one more node would have."""


def room_of(instance_type: str, shares: Mapping[str, int]) -> dict[str, Decimal]:
    """What a node of a type gives: its shares, and what the catalog knows of the machine."""
    room = {name: Decimal(count) for name, count in shares.items()}
    found = _CATALOG.find(instance_type)
    if found is None:
        return room
    left = allocatable(found)
    return {
        **room,
        "cpu": Decimal(left.cpu_millis) / 1000,
        "memory": Decimal(left.memory_mib) * _MIB,
        "pods": Decimal(left.pods or _PODS),
    }


def reached_limit(
    node_pool: Object, rooms: Mapping[str, Mapping[str, Decimal]]
) -> ReachedLimit | None:
    """The limit that lets no further node of any type come; None where one may.

    Args:
        node_pool: The NodePool, with what Karpenter has counted in its status.
        rooms: What one node would have, by instance type.
    """
    limits = _amounts(at(node_pool, "spec", "limits"))
    used = _amounts(at(node_pool, "status", "resources"))
    found: ReachedLimit | None = None
    for kind, room in rooms.items():
        over = [
            name
            for name, limit in limits.items()
            if room.get(name) and used.get(name, Decimal()) + room[name] > limit
        ]
        if not over:
            return None
        has = used.get(over[0], Decimal())
        found = found or ReachedLimit(kind, over[0], limits[over[0]], has, room[over[0]])
    return found


def _amounts(given: object) -> dict[str, Decimal]:
    return {name: quantity(n) for name, n in given.items()} if isinstance(given, dict) else {}
