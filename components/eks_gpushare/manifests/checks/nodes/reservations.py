"""Capacity reservations that a node class selects and no pool of it takes, or can launch into.

Source: "spec.capacityReservationSelectorTerms" and "spec.subnetSelectorTerms" of
https://karpenter.sh/docs/concepts/nodeclasses/ and the task on ODCRs there; November 2026. A pool
that names no capacity type is not judged. It is known which subnets are selected where a template
has such as are and such as are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import RESERVATION, SUBNET, NodeLaunch, NodeSet, Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.room_of_pools import RESERVED_IN_VAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_WAYS: Final = "karpenter.sh/capacity-type"
_ZONE: Final = "topology.kubernetes.io/zone"
_RESERVED: Final = "capacityReservationSelectorTerms"
_SUBNETS: Final = "subnetSelectorTerms"
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
            terms = at(value_of(launch), "spec", _RESERVED)
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


@edge(RESERVED_IN_VAIN)
def elsewhere(inventory: Inventory) -> Iterator[Judgement]:
    """Where what is reserved is in a zone that the class, or a pool of it, launches nothing in."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        reserved, subnets = (
            [each for each in pointers if each.kind == kind] for kind in (RESERVATION, SUBNET)
        )
        for nodes in inventory.of(NodeSet, cluster) if reserved else ():
            launch, ways = nodes.launch, nodes.bought_as
            if not isinstance(launch, NodeLaunch) or ways is UNKNOWN or "reserved" not in ways:
                continue
            spec = at(value_of(launch), "spec")
            zones = _zones(_selected(reserved, at(spec, _RESERVED)))
            here = _zones(_selected(subnets, at(spec, _SUBNETS)))
            others = _zones(subnets)
            own = _zones_of_pool(nodes)
            if zones and own and zones.isdisjoint(own):
                yield _elsewhere(nodes, launch, zones, f"{nodes.source.name} is for", own)
            elif zones and here and not zones - others and zones.isdisjoint(here):
                yield _elsewhere(nodes, launch, zones, "its subnets are in", here)


def _elsewhere(
    nodes: NodeSet, launch: NodeLaunch, zones: frozenset[str], where: str, others: frozenset[str]
) -> Problem:
    first, second = (", ".join(sorted(each)) for each in (zones, others))
    return Problem(
        RESERVED_IN_VAIN,
        launch.source,
        (_RESERVED,),
        f"What {launch.source.name} has reserved is in {first}, and {where} {second}: "
        f"{nodes.source.name} launches nothing into it.",
        f"Select a subnet in {first}, and allow {nodes.source.name} that zone.",
    )


def _selected(given: Sequence[Pointer], terms: Any) -> list[Pointer]:
    """Those that terms select by their tags; none where it is not known which these are."""
    tags = [dict(pairs(at(term, "tags"))) for term in items(terms)]
    known = [at(each.spec, "tags") for each in given]
    by_others = any(set(dict(pairs(term))) != {"tags"} for term in items(terms))
    if has_unknown([terms, known]) or by_others or not all(tags):
        return []
    return [each for each in given if any(_has(at(each.spec, "tags"), one) for one in tags)]


def _has(tags: Any, wanted: dict[str, Any]) -> bool:
    return all(key in tags and text(value) in ("*", tags[key]) for key, value in wanted.items())


def _zones(given: Sequence[Pointer]) -> frozenset[str]:
    """The zones of all; none where one is not known."""
    zones = [at(each.spec, "zone") for each in given]
    return frozenset() if UNKNOWN in zones else frozenset(zones)


def _zones_of_pool(nodes: NodeSet) -> frozenset[str]:
    """The zones that a pool requires; none where it does not say, or not which."""
    for each in items(at(value_of(nodes), *_REQUIREMENTS)):
        values = at(each, "values")
        if at(each, "key") == _ZONE and at(each, "operator") == "In" and not has_unknown(values):
            return frozenset(map(str, items(values)))
    return frozenset()
