"""What a pool holds when an autoscaler has given it all its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity

if TYPE_CHECKING:
    from eks_gpushare.sharing.plan import PoolPlan


def most_pods(
    plan: PoolPlan, resource: str, shares: int = 1, *, by_itself: bool = False
) -> int | None:
    """Most pods that a pool holds, None where nothing says how many nodes it may have.

    Of types that differ, the one of which the fewest pods fit: so many are sure.

    Args:
        plan: Plan of the pool.
        resource: What the pods ask for.
        shares: How many of it each.
        by_itself: Whether to count the nodes alone that come without another update: of a node
            group whose size the stack decides, those that it is given.
    """
    held = [
        # What is left of a node is no use to a pod that asks for more.
        None if nodes is None else nodes * (plan.per_node[name].get(resource, 0) // shares)
        for name, nodes in _nodes_by_type(plan, resource, by_itself=by_itself).items()
    ]
    known = [count for count in held if count is not None]
    return min(known, default=0) if len(known) == len(held) else None


def most_nodes(plan: PoolPlan) -> int | None:
    """Most nodes of a pool, None where nothing says how many."""
    pool = plan.pool
    if pool.provisioner == "existing" and pool.nodes.max is None:
        return None  # whoever makes the nodes decides
    if pool.provisioner != "karpenter":
        return plan.sizes.max
    if pool.is_static:
        return plan.sizes.desired  # more there are only while one is exchanged
    limits = pool.karpenter.limits if pool.karpenter is not None else None
    return None if limits else pool.nodes.max


def _nodes_by_type(plan: PoolPlan, resource: str, *, by_itself: bool) -> dict[str, int | None]:
    """Most nodes if all are of one type, by that.

    A pool of Karpenter's is bound by what its nodes have together: where it says nothing else, by
    what `nodes.max` of the largest type have. Another node comes up to where that would be
    exceeded.
    """
    pool, counts = plan.pool, {name: node.get(resource, 0) for name, node in plan.per_node.items()}
    if by_itself and pool.provisioner == "managedNodeGroup" and pool.scaled_by == "stack":
        return dict.fromkeys(counts, plan.sizes.desired)
    if pool.provisioner != "karpenter" or pool.is_static:
        return dict.fromkeys(counts, most_nodes(plan))
    given = (pool.karpenter.limits if pool.karpenter is not None else None) or {}
    most = _whole(given[resource]) if resource in given else None
    if most is None and pool.nodes.max is not None:
        most = pool.nodes.max * max(counts.values(), default=0)
    return {
        name: None if most is None else most // count if count else 0
        for name, count in counts.items()
    }


def _whole(amount: int | str) -> int | None:
    """A limit as a whole number, None if it is written in another way."""
    found = quantity(str(amount))
    return int(found) if found is not None and found.denominator == 1 else None
