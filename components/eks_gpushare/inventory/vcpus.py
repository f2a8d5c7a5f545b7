"""vCPUs that the nodes of an inventory may take, by EC2's quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.catalog.quotas import bucket
from eks_gpushare.inventory.items import Nodes
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.quotas import Capacity
    from eks_gpushare.inventory.inventory import Inventory


class Taken(NamedTuple):
    """What is taken of one vCPU quota when there are as many nodes as there may be."""

    name: str
    """The quota's name in Service Quotas."""
    vcpus: int
    by: tuple[Nodes, ...]


def vcpus_at_most(
    inventory: Inventory, capacity: Mapping[str, Capacity] | None = None
) -> tuple[Mapping[str, Taken], tuple[Nodes, ...]]:
    """VCPUs by the code of EC2's quota, and the nodes of which it is not known.

    Args:
        inventory: What there is.
        capacity: How nodes are bought, by the name of their source. Default: on demand.
    """
    found: dict[str, Taken] = {}
    unknown: list[Nodes] = []
    for nodes in inventory.of(Nodes):
        types = () if nodes.instance_types is UNKNOWN else nodes.instance_types
        known = [each for name in types if (each := CATALOG.find(str(name))) is not None]
        if nodes.provisioner == "byHand":
            continue
        if not isinstance(nodes.most, int) or not known or len(known) < len(types):
            unknown.append(nodes)
            continue
        largest = max(known, key=lambda each: each.vcpus)
        quota = bucket(largest, (capacity or {}).get(nodes.source.name, "onDemand"))
        if quota is not None:
            before = found.get(quota.code, Taken(quota.name, 0, ()))
            vcpus = before.vcpus + largest.vcpus * nodes.most
            found[quota.code] = Taken(quota.name, vcpus, (*before.by, nodes))
    return found, tuple(unknown)
