"""CPU and memory of a node against the shares on it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.shares import fit_before_shares
from eks_gpushare.inventory.landings import starting_grounds
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import gpu_nodes, unseen_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.manifests.rules.against import SHARES_UNREACHED, TOO_LARGE_POD
from eks_gpushare.sharing.nodes import allocatable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.pod_demand import PodDemand

_MIB: Final = 2**20
_MILLIS: Final = 1000
_CHOOSING: Final = ("karpenter", "autoMode")
_LAUNCHED: Final = ("karpenter", "managed", "selfManaged")


@edge(SHARES_UNREACHED)
def shares_are_reached(inventory: Inventory) -> Iterator[Judgement]:
    """Of workloads with so many pods that a node would be filled."""
    for cluster in inventory.clusters():
        ground = starting_grounds(inventory, cluster)
        for workload, _ in gpu_workloads(inventory, cluster):
            demand = demand_of(workload.spec)
            found = [
                (offer.kind.nodes, _unreached(workload, demand, offer))
                for offer in ground.places(workload).alike
            ]
            # Karpenter takes a type that has room for all the pods that wait.
            chosen = {
                id(nodes)
                for nodes, problem in found
                if problem is None and nodes.provisioner in _CHOOSING
            }
            unreached = (problem for nodes, problem in found if problem and id(nodes) not in chosen)
            if (first := next(unreached, None)) is not None:
                yield first


def _unreached(workload: Workload, demand: PodDemand, offer: Offer) -> Problem | None:
    found, replicas = offer.kind.type, workload.replicas
    devices = demand.of_devices()
    if found is None or not devices or not offer.resources or not isinstance(replicas, int):
        return None
    counts = [offer.resources.get(name) for name in devices]
    known = [count // n for count, n in zip(counts, devices.values(), strict=True) if count]
    if len(known) != len(counts):
        return None
    shares = min(known)
    for name, (room, shown) in _rooms(found).items():
        asked = demand.amounts.get(name, Fraction())
        fit = fit_before_shares(room, asked, shares, replicas)
        if fit is not None:
            return Problem(
                SHARES_UNREACHED,
                workload.source,
                (*workload.spec_path, *demand.places[name]),
                f"{at_start(workload.source.name)} has {replicas} pods; {fit} of the {shares} that "
                f"the shares of a {found.name} are for fit on it: it has {shown} of {name} for "
                "pods.",
                f"Request less {name}, have fewer shares on a node, or take a larger type.",
            )
    return None


@edge(TOO_LARGE_POD)
def a_pod_has_room(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods that ask a node for more CPU or memory than any that they may be on has, empty."""
    for cluster in inventory.clusters():
        kinds = [*gpu_nodes(inventory, cluster), *unseen_nodes(inventory, cluster)]
        types = {kind.type.name: kind.type for kind in kinds if kind.type is not None}
        rooms = [(n, room) for found in types.values() for n, (room, _) in _rooms(found).items()]
        for workload, _ in gpu_workloads(inventory, cluster) if types else ():
            demand = demand_of(workload.spec)
            # Most have room on the smallest of them.
            if any(demand.amounts.get(n, 0) > room for n, room in rooms):
                yield from _too_large(workload, demand, kinds)


def _too_large(
    workload: Workload, demand: PodDemand, kinds: Sequence[NodeKind]
) -> Iterator[Problem]:
    spec = with_extended_tolerations(workload.spec)
    meant = [
        kind for kind in kinds if landing(spec, kind.nodes.taints, kind.label).lands is not False
    ]
    # Of pools whose plan is known `lint.against` tells.
    types = [
        kind.type
        for kind in meant
        if kind.type is not None
        and kind.nodes.provisioner in _LAUNCHED
        and not kind.nodes.advertised
    ]
    selects = bool(pairs(at(spec, "nodeSelector"))) or required_terms(spec) is not None
    # Of pods that select nothing, pools may be meant that are not among the files.
    is_one = len({id(kind.nodes) for kind in kinds}) == 1
    if not types or len(types) < len(meant) or not (selects or is_one):
        return
    for name in _rooms(types[0]):
        asked = demand.amounts.get(name, Fraction())
        largest = max(types, key=lambda each: _rooms(each)[name][0])
        room, shown = _rooms(largest)[name]
        if asked > room:
            has = {"cpu": Fraction(largest.vcpus), "memory": Fraction(largest.memory_mib * _MIB)}
            nodes = next(kind.nodes for kind in meant if kind.type is largest)
            yield Problem(
                TOO_LARGE_POD,
                workload.source,
                (*workload.spec_path, *demand.places[name]),
                f"A pod of {workload.source.name} asks for {demand.told(name)}, "
                f"and the most that a node of {nodes.source.name} has for pods is {shown} "
                f"({largest.name}).",
                "Request less, or take a larger instance type.",
                # A kubelet may be told to keep back less than EKS's own does.
                None if asked >= has[name] else "warning",
            )


def _rooms(found: InstanceType) -> dict[str, tuple[Fraction, str]]:
    has = allocatable(found)
    return {
        "cpu": (Fraction(has.cpu_millis, _MILLIS), f"{has.cpu_millis}m"),
        "memory": (Fraction(has.memory_mib * _MIB), f"{has.memory_mib} MiB"),
    }
