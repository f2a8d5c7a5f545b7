"""Which nodes with GPUs the pods of a workload may be on.

Of thousands of workloads and nodes most have nothing to do with each other, so nodes are found by
the labels that pods select them by, and pods that want the same are looked at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.label_index import LabelIndex
from eks_gpushare.inventory.scheduling import Landing, landing, lasting, with_extended_tolerations
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, frozen, has_unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import NodeSet, Workload
    from eks_gpushare.inventory.requests import Request

_DECIDING = ("tolerations", "nodeSelector", "affinity")
"""What of a pod decides where it may be."""


class Candidates(NamedTuple):
    """Nodes that have what a pod asks for, and what keeps it off them."""

    offer: Offer
    landing: Landing


class Having:
    """The nodes that have all of some resources, as far as is known."""

    def __init__(self, grounds: Grounds, resources: Sequence[str]) -> None:
        self._index = grounds.index
        every = grounds.every
        self.positions = [
            position
            for position in grounds.positions_having(resources)
            if all(every[position].has(resource) is not False for resource in resources)
        ]
        self.offers = tuple(every[position] for position in self.positions)
        self.among = frozenset(self.positions)

    @cached_property
    def declarations(self) -> int:
        """How many declarations of nodes these are."""
        return len({id(offer.kind.nodes) for offer in self.offers})

    @cached_property
    def partly_known(self) -> tuple[NodeSet, str] | None:
        """The first nodes of which the taints or the labels are not all known, and which."""
        for offer in self.offers:
            nodes = offer.kind.nodes
            for name, value in (("taints", nodes.taints), ("labels", nodes.labels)):
                if has_unknown(value):
                    return nodes, name
        return None


class Places:
    """Where pods that ask for some resources may be, and what keeps them off the rest."""

    def __init__(self, grounds: Grounds, spec: Any, having: Having) -> None:
        self.having = having
        self._grounds, self._spec = grounds, spec
        found = grounds.index.meeting(spec)
        # Whatever is not among these lacks a label that the pods want.
        self._fitting = having.positions if found is None else sorted(found & having.among)
        self.possible = tuple(
            place for place in map(self._place, self._fitting) if place.landing.lands is not False
        )
        """Those that nothing keeps them off, as far as is known."""

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """The nodes of these."""
        return tuple(place.offer for place in self.possible)

    @property
    def lands(self) -> bool | None:
        """Whether there is one where they may be, as far as is known."""
        return True if self._surely else None if self.possible else False

    @cached_property
    def _surely(self) -> bool:
        return any(place.landing.lands for place in self.possible)

    @cached_property
    def kept_out(self) -> Candidates | None:
        """The first with all labels that they want, where they may be nowhere."""
        found = map(self._place, self._fitting)
        return next((place for place in found if not place.landing.labels), None)

    @cached_property
    def nearest(self) -> Candidates:
        """The first with the most labels that they want, where they may be nowhere.

        Of such that lack as many, one with all of somebody's own labels is the one that was meant.
        """
        some = self._grounds.index.meeting_any(self._spec)
        positions: Iterable[int] = self.having.positions
        if some is not None:
            other = next((position for position in positions if position not in some), None)
            near = some & self.having.among
            positions = sorted(near if other is None else near | {other})
        return min(map(self._place, positions), key=lambda place: _missed(place.landing.labels))

    @cached_property
    def alike(self) -> tuple[Offer, ...]:
        """Of these the first of each type that has the same, shared in the same way."""
        first: dict[Any, Offer] = {}
        for offer in self.offers:
            first.setdefault(self._grounds.manner(offer), offer)
        return tuple(first.values())

    @cached_property
    def seen(self) -> tuple[Offer, ...]:
        """Those that nothing keeps them off, as far as all of it is known.

        But for labels that AWS or Karpenter sets.
        """
        if any(has_unknown(at(self._spec, key)) for key in _DECIDING):
            return ()
        return tuple(
            landing.offer
            for landing in self.possible
            if self._grounds.is_seen(landing.offer.kind.nodes)
        )

    def _place(self, position: int) -> Candidates:
        offer = self._grounds.every[position]
        return Candidates(offer, landing(self._spec, self._grounds.taints(offer), offer.kind.label))


class Grounds:
    """All nodes with GPUs of a cluster."""

    def __init__(self, every: Sequence[Offer], *, starting: bool = False) -> None:
        """Take the nodes; `starting` counts taints too that they lose before pods are placed."""
        self.every = every
        self.index = LabelIndex([offer.kind for offer in every])
        self._starting = starting
        self._having: dict[tuple[str, ...], Having] = {}
        self._places: dict[Any, Places] = {}
        self._seen: dict[int, bool] = {}
        self._manners: dict[int, str] = {}
        self._by_resource: dict[str, list[int]] = {}
        self._any_resource: list[int] = []
        for position, offer in enumerate(every):
            if offer.resources is None:
                self._any_resource.append(position)
            for resource in offer.resources or ():
                self._by_resource.setdefault(resource, []).append(position)

    def having(self, requests: Iterable[Request]) -> Having:
        """The nodes that have all that is asked for, as far as is known."""
        resources = tuple(sorted({request.resource for request in requests}))
        if resources not in self._having:
            self._having[resources] = Having(self, resources)
        return self._having[resources]

    def positions_having(self, resources: Sequence[str]) -> Sequence[int]:
        """Those that may have the first of some resources; all of them where there is none."""
        if not resources:
            return range(len(self.every))
        return sorted([*self._by_resource.get(resources[0], ()), *self._any_resource])

    def places(self, workload: Workload, requests: Sequence[Request] = ()) -> Places:
        """Where the pods of a workload may be."""
        having = self.having(requests)
        spec = with_extended_tolerations(workload.spec)
        wants = spec if spec is UNKNOWN else frozen([at(spec, key) for key in _DECIDING])
        key = (id(having), wants)
        if key not in self._places:
            self._places[key] = Places(self, spec, having)
        return self._places[key]

    def taints(self, offer: Offer) -> Any:
        """The taints of nodes that count."""
        taints = offer.kind.nodes.taints
        return taints if self._starting else lasting(taints)

    def manner(self, offer: Offer) -> str:
        """What tells nodes apart but for their labels and taints."""
        if id(offer) not in self._manners:
            kind = offer.kind
            name = kind.type.name if kind.type is not None else None
            told = (name, kind.nodes.provisioner, offer.resources, offer.config)
            self._manners[id(offer)] = repr(told)
        return self._manners[id(offer)]

    def is_seen(self, nodes: NodeSet) -> bool:
        """Whether all labels and taints of a declaration are known."""
        if id(nodes) not in self._seen:
            self._seen[id(nodes)] = not has_unknown([nodes.labels, nodes.taints])
        return self._seen[id(nodes)]


@kept
def grounds(inventory: Inventory, cluster: str) -> Grounds:
    """The nodes with GPUs of a cluster, for pods that are placed once nodes are ready."""
    return Grounds(offers(inventory, cluster).every)


@kept
def starting_grounds(inventory: Inventory, cluster: str) -> Grounds:
    """The same with all taints that nodes start with."""
    return Grounds(offers(inventory, cluster).every, starting=True)


def _missed(labels: Sequence[str]) -> tuple[int, int]:
    """How many labels nodes lack, and how many of these are not Kubernetes' own."""
    return len(labels), sum("kubernetes.io/" not in each for each in labels)
