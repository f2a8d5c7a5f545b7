"""What Karpenter buys for pods that wait together, and what would be the cheapest for them.

It puts pod after pod into a node to be, as long as one type of the pool has room for all of them.
So nodes are filled up to what the largest type takes, and of the types that have room for what is
in a node, the cheapest is launched: Karpenter, `pkg/controllers/provisioning/scheduling`
(NodeClaim.CanAdd) and `pkg/providers/instance` of its provider for AWS at v1.14.1, which asks EC2
for the lowest price. Nodes are few for it, and not always cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Purchase(NamedTuple):
    """Nodes by instance type, and what they cost."""

    nodes: Mapping[str, int]
    usd_per_hour: float


def bought(holds: Mapping[str, int], prices: Mapping[str, float], pods: int) -> Purchase:
    """What Karpenter launches.

    Args:
        holds: Pods that a node takes, by instance type; one at least takes one.
        prices: USD per hour of a node, by instance type.
        pods: How many wait together.
    """
    most, nodes = max(holds.values()), dict[str, int]()
    while pods > 0:
        placed = min(pods, most)
        fit = [name for name, held in holds.items() if held >= placed]
        chosen = min(fit, key=lambda name: (prices[name], name))
        nodes[chosen] = nodes.get(chosen, 0) + 1
        pods -= placed
    return _purchase(nodes, prices)


def cheapest(holds: Mapping[str, int], prices: Mapping[str, float], pods: int) -> Purchase:
    """The nodes that have room for the pods for least; arguments as above."""
    costs, chosen = [0.0], [""]
    for count in range(1, pods + 1):
        cost, name = min(
            (costs[max(0, count - held)] + prices[item], item)
            for item, held in holds.items()
            if held
        )
        costs.append(cost)
        chosen.append(name)
    names = list[str]()
    while pods > 0:
        names.append(chosen[pods])
        pods -= holds[chosen[pods]]
    return _purchase({name: names.count(name) for name in sorted(set(names))}, prices)


def _purchase(nodes: Mapping[str, int], prices: Mapping[str, float]) -> Purchase:
    total = sum(count * prices[name] for name, count in nodes.items())
    return Purchase(nodes, round(total, 6))
