"""Disks that are made before it is known where their pods with GPUs can be.

Source: "Volume Binding Mode" of https://kubernetes.io/docs/concepts/storage/storage-classes/: by
Immediate, the default, a disk is made in any zone, and stays there; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet, Pointer, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, has_unknown, is_same, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.volumes import ATTACHED, is_default, is_named
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import ONE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_LATE: Final = "WaitForFirstConsumer"


@edge(ONE_NODE)
def zones(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods whose nodes are in known zones, unless all other nodes are in these too."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        early = [each for each in pointers if _is_early(each)]
        ground, said = grounds(inventory, cluster), set[int]()
        for workload, requests in gpu_workloads(inventory, cluster) if early else ():
            here = [offer.kind.nodes for offer in ground.places(workload, requests).offers]
            zones = zones_of(here)
            others = [each for each in inventory.of(NodeSet, cluster) if each not in here]
            if not zones or (others and zones_of(others) == zones):
                continue
            for claim in _claims(workload, pointers):
                named = at(claim, "storageClassName")
                for storage in early:
                    if _is_of(storage, named) and id(storage) not in said:
                        said.add(id(storage))
                        yield _problem(storage, workload, zones)


def _is_early(storage: Pointer) -> bool:
    """Whether it is a class of disks that are made at once, in whatever zone."""
    mode, where = (at(storage.spec, key) for key in ("volumeBindingMode", "allowedTopologies"))
    return (
        storage.kind == "StorageClass"
        and mode in (None, "Immediate")
        and not where
        and not has_unknown(storage.spec)
        and str(at(storage.spec, "provisioner")) in ATTACHED
    )


def _is_of(storage: Pointer, named: Any) -> bool:
    return is_same(storage.name, named) if named else named is None and is_default(storage)


def zones_of(nodes: Sequence[NodeSet]) -> frozenset[str]:
    """The zones of all; none where some are not known.

    Args:
        nodes: What makes nodes.
    """
    found = [_zones(each) for each in nodes]
    return frozenset[str]().union(*found) if all(found) else frozenset()


def _zones(nodes: NodeSet) -> frozenset[str]:
    """Those that a pool of Karpenter requires, or a group of eksctl is in."""
    value = value_of(nodes)
    given = at(value, *nodes.source.path, "availabilityZones")
    for each in items(at(value, *_REQUIREMENTS)):
        if at(each, "key") in ZONES and at(each, "operator") == "In":
            given = at(each, "values")
    return frozenset() if has_unknown(given) else frozenset(map(str, items(given)))


def _claims(workload: Workload, pointers: Sequence[Pointer]) -> Iterator[Any]:
    """Specs of the claims of its pods, of its own and of those that it names."""
    for each in items(at(value_of(workload), "spec", "volumeClaimTemplates")):
        yield at(each, "spec")
    for volume in items(at(workload.spec, "volumes")):
        name = at(volume, "persistentVolumeClaim", "claimName")
        for claim in pointers:
            if claim.kind == "PersistentVolumeClaim" and is_named(claim, name, workload):
                yield claim.spec


def _problem(storage: Pointer, workload: Workload, zones: frozenset[str]) -> Problem:
    return Problem(
        ONE_NODE,
        storage.source,
        ("volumeBindingMode",),
        f"{at_start(storage.source.name)} makes a disk at once, in any zone, and "
        f"{workload.source.name} can only be in {', '.join(sorted(zones))}.",
        f"Write volumeBindingMode: {_LATE}.",
        "warning",
    )
