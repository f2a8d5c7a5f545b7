"""What Karpenter is told of instance types: the resources of a shared node, in place of EC2's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import gpu_instance_types
from eks_gpushare.sharing.autoscaling import promised
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.sharing.plan import PoolPlan

OVERLAYS = "karpenter.sh/v1alpha1"
"""API version of a NodeOverlay, which only counts with the feature gate NodeOverlay."""
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NODE_POOL = "karpenter.sh/nodepool"
_WEIGHT = 100
"""Above what others in the cluster say of a type without a weight. Two of ours never meet: each is
for one pool and one type."""


def overlay_name(pool: str, instance_type: str) -> str:
    """Name of the overlay for a type in a pool."""
    return f"{pool}-{instance_type.replace('.', '-')}"


def node_overlays(plan: PoolPlan, catalog: Catalog) -> list[dict[str, Any]]:
    """The NodeOverlays of a pool: one for each type of which EC2's figures are not the plan's.

    Karpenter takes the GPUs of a type from EC2, and knows of no other resource of a node. What an
    overlay names stands in place of that, so a resource that nodes do not have is named with 0.

    Args:
        plan: Plan of the pool.
        catalog: Where the types are looked up.
    """
    return [
        _overlay(
            overlay_name(plan.name, name),
            [_is(NODE_POOL, plan.name), _is(INSTANCE_TYPE, name)],
            {"capacity": {resource: str(n) for resource, n in promised(plan, name).items()}},
        )
        for name in plan.per_node
        if not _known_to_ec2(plan, catalog, name)
    ]


def needs_overlays(plan: PoolPlan, catalog: Catalog) -> bool:
    """Whether Karpenter has to be told of any type of the pool."""
    return not all(_known_to_ec2(plan, catalog, name) for name in plan.per_node)


def _known_to_ec2(plan: PoolPlan, catalog: Catalog, name: str) -> bool:
    """Whether a node has what EC2 says of its type: so it is where nothing is shared, mostly."""
    found = catalog.find(name)
    return found is not None and promised(plan, name) == {GPU: found.api_gpu_count}


def price_overlays(
    plans: Iterable[PoolPlan], catalog: Catalog, region: str | None
) -> list[dict[str, Any]]:
    """NodeOverlays that give a price to types of which AWS publishes none.

    Karpenter launches no type without a price on demand or as spot, and takes one from an overlay
    that is for the type alone. So there is one for each type, whichever pools have it. The price is
    the stack file's: where the catalog has one, so has AWS.

    Args:
        plans: Plans of the pools that Karpenter makes.
        catalog: Where prices are looked up.
        region: AWS region of the stack. Without it prices are unknown.
    """
    prices: dict[str, float] = {}
    plans = list(plans)
    for name in (name for plan in plans for name in plan.per_node):
        found = catalog.find(name)
        price = found.price(region) if found is not None and region is not None else None
        if price is not None and not _published(name):
            prices[name] = price
    of_pools = {
        overlay["metadata"]["name"] for plan in plans for overlay in node_overlays(plan, catalog)
    }
    return [
        _overlay(_price_name(name, of_pools), [_is(INSTANCE_TYPE, name)], {"price": f"{price:f}"})
        for name, price in sorted(prices.items())
    ]


def _price_name(instance_type: str, taken: Collection[str]) -> str:
    """Name of the overlay with a price: a pool called `price` has the usual one for its shares."""
    name = overlay_name("price", instance_type)
    # No pool has a point in its name.
    return name.replace("-", ".", 1) if name in taken else name


def _published(name: str) -> bool:
    found = gpu_instance_types().get(name)
    return found is not None and any(found.prices.values())


def _is(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


def _overlay(
    name: str, requirements: list[dict[str, Any]], says: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": OVERLAYS,
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": {"weight": _WEIGHT, "requirements": requirements, **says},
    }
