"""CPU and memory of a node against the shares on it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from eks_gpushare.facts.shares import fit_before_shares
from eks_gpushare.inventory.landings import starting_grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.manifests.rules.against import SHARES_UNREACHED
from eks_gpushare.sharing.nodes import allocatable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.pod_demand import PodDemand

_MIB: Final = 2**20
_MILLIS: Final = 1000
_CHOOSING: Final = ("karpenter", "autoMode")


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
    for name, room, shown in _rooms(found):
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


def _rooms(found: InstanceType) -> Iterator[tuple[str, Fraction, str]]:
    has = allocatable(found)
    yield "cpu", Fraction(has.cpu_millis, _MILLIS), f"{has.cpu_millis}m"
    yield "memory", Fraction(has.memory_mib * _MIB), f"{has.memory_mib} MiB"
