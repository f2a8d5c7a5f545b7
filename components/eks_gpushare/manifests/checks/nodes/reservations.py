"""Capacity reservations that a node class selects and no pool of it takes.

Source: "spec.capacityReservationSelectorTerms" of https://karpenter.sh/docs/concepts/nodeclasses/
and the task on ODCRs there; November 2026. A pool that names no capacity type is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeLaunch, NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.room_of_pools import RESERVED_IN_VAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_WAYS: Final = "karpenter.sh/capacity-type"
_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")


@edge(RESERVED_IN_VAIN)
def reservations(inventory: Inventory) -> Iterator[Judgement]:
    """Where all pools of the class that are here say how EC2 is asked."""
    for cluster in inventory.clusters():
        of_class: dict[int, list[tuple[NodeSet, FieldPath | None]]] = {}
        classes: dict[int, NodeLaunch] = {}
        for nodes in inventory.of(NodeSet, cluster):
            launch = nodes.launch
            if isinstance(launch, NodeLaunch):
                classes[id(launch)] = launch
                of_class.setdefault(id(launch), []).append((nodes, _place(nodes)))
        for number, pools in of_class.items():
            launch, (nodes, place) = classes[number], pools[0]
            terms = at(value_of(launch), "spec", "capacityReservationSelectorTerms")
            if items(terms) and place is not None and all(each for _, each in pools):
                yield Problem(
                    RESERVED_IN_VAIN,
                    nodes.source,
                    place,
                    f"{at_start(launch.source.name)} selects capacity reservations, and "
                    f"{nodes.source.name} of it takes no reserved capacity.",
                    f"Add reserved to {_WAYS}, before on-demand where that may take its place.",
                )


def _place(nodes: NodeSet) -> FieldPath | None:
    """Where a pool names ways of which none is reserved; None where it does not, or is not seen."""
    requirements: Any = at(value_of(nodes), *_REQUIREMENTS)
    if nodes.bought_as is UNKNOWN or "reserved" in nodes.bought_as:
        return None
    for index, each in enumerate(items(requirements)):
        if at(each, "key") == _WAYS:
            values = at(each, "values")
            told = at(each, "operator") == "In" and bool(items(values)) and not has_unknown(values)
            return (*_REQUIREMENTS, index, "values") if told else None
    return None
