"""From how many to how many nodes Karpenter scales a pool, and the limits by which it does.

Karpenter counts resources and not nodes, in the units that nodes advertise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.karpenter_pools import NODES
from eks_gpushare.sharing.nodes import Sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.pools import Pool


class Range(NamedTuple):
    """From how many to how many of something; no most where nothing limits it."""

    least: int
    most: int | None


def limits_by_type(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """What goes below `spec.limits` of a NodePool; empty where the pool has no limit.

    Args:
        pool: The pool.
        nodes: Resources of a node, by instance type.
    """
    given = (pool.karpenter.limits if pool.karpenter else None) or {}
    return {**_by_default(pool, nodes), **{name: str(most) for name, most in given.items()}}


def _by_default(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """What `nodes.max` nodes of the largest type have."""
    most = pool.nodes.max
    if most is None:
        return {}
    if pool.is_static:
        return {NODES: str(most)}
    largest: dict[str, int] = {}
    for node in nodes.values():
        for name, count in node.items():
            largest[name] = max(largest.get(name, 0), count)
    return {name: str(count * most) for name, count in largest.items() if count}


def node_range(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> Range:
    """From how many to how many nodes the pool may have, whichever of its types they are.

    Args:
        pool: The pool.
        nodes: Resources of a node, by instance type.
    """
    most = [*most_by_type(pool, nodes).values()]
    least = static_nodes(pool) if pool.is_static else 0
    known = [count for count in most if count is not None]
    return Range(least, max(known, default=0) if len(known) == len(most) else None)


def most_by_type(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> dict[str, int | None]:
    """Most nodes that there may be if all are of one type, by that; None without a limit.

    A limit is in resources, so that of the smallest type there may be more nodes than of the
    largest. Limits of what the plan says nothing about, such as CPUs, are not counted.

    Args:
        pool: The pool.
        nodes: Resources of a node, by instance type.
    """
    limits = {name: _whole(most) for name, most in limits_by_type(pool, nodes).items()}
    if pool.is_static:
        wanted = static_nodes(pool)
        return dict.fromkeys(nodes, max(wanted, limits.get(NODES, 0)))
    return {
        name: min(
            (limits[item] // n for item, n in node.items() if n and item in limits), default=None
        )
        for name, node in nodes.items()
    }


def static_nodes(pool: Pool) -> int:
    """How many nodes a static pool keeps: one unless it says otherwise."""
    return 1 if pool.nodes.desired is None else pool.nodes.desired


def sizes_of(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> Sizes:
    """Sizes of the pool. A dynamic one starts with no node, as pods have not asked for any.

    Where nothing limits it, the most is given as one node: so many there are as soon as a pod asks.

    Args:
        pool: The pool.
        nodes: Resources of a node, by instance type.
    """
    least, most = node_range(pool, nodes)
    given = pool.nodes.max
    return Sizes(least, least, most or 1 if given is None else given)


def _whole(limit: str) -> int:
    found = quantity(limit)
    return int(found) if found is not None and found > 0 else 0
