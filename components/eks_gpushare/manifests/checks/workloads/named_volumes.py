"""Claims of pods with GPUs that name a volume which they cannot get, or not where the pods can be.

Sources, November 2026: "Reserving a PersistentVolume" and "Node Affinity" of
https://kubernetes.io/docs/concepts/storage/persistent-volumes/: a claim that names a volume is
bound to no other, and a volume made by hand says in which zones it is. Classes are compared where
the volume names no claim: `syncUnboundClaim` in
pkg/controller/volume/persistentvolume/pv_controller.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.by_value import ByValue
from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.disk_zones import ZONES, zones_of
from eks_gpushare.manifests.checks.workloads.volumes import is_named
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import ONE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request

_CLASS: Final = "storageClassName"
_BEFORE: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that said it once, and goes over the field."""
_EMPTY: Final = '""'
_AFFINITY: Final = ("nodeAffinity", "required", "nodeSelectorTerms")
_OF_VOLUMES: Final = (*ZONES, "topology.ebs.csi.aws.com/zone")


class _Named(NamedTuple):
    """A claim of pods, and the one volume that it names."""

    workload: Workload
    requests: Sequence[Request]
    claim: Pointer
    volume: Pointer


@edge(ONE_NODE)
def named_volumes(inventory: Inventory) -> Iterator[Judgement]:
    """Each claim and each volume once, whatever mounts it."""
    for cluster in inventory.clusters():
        said: set[int] = set()
        for each in _named(inventory, cluster):
            for item, problem in (
                (each.claim, _of_another_class(each)),
                (each.volume, _in_another_zone(each, inventory, cluster)),
            ):
                if problem is not None and id(item) not in said:
                    said.add(id(item))
                    yield problem


def _named(inventory: Inventory, cluster: str) -> Iterator[_Named]:
    pointers = inventory.of(Pointer, cluster)
    there = [each for each in pointers if each.kind == "PersistentVolume"]
    if not there:
        return
    volumes = ByValue(there, lambda each: [each.name])
    claims = ByValue(
        [each for each in pointers if each.kind == "PersistentVolumeClaim"],
        lambda each: [each.name],
    )
    for workload, requests in gpu_workloads(inventory, cluster):
        for mounted in items(at(workload.spec, "volumes")):
            name = at(mounted, "persistentVolumeClaim", "claimName")
            for claim in claims.may_have(name) if isinstance(name, str) else ():
                wanted = at(claim.spec, "volumeName")
                found = volumes.may_have(wanted) if isinstance(wanted, str) else ()
                # Of two with one name, or beside one whose name is not known, it may be either.
                if is_named(claim, name, workload) and len(found) == 1 and found[0].name == wanted:
                    yield _Named(workload, requests, claim, found[0])


def _of_another_class(each: _Named) -> Problem | None:
    own, other = _class_of(each.claim), _class_of(each.volume)
    is_known = UNKNOWN not in (own, other) and own is not None
    if not is_known or own == (other or "") or at(each.volume.spec, "claimRef") is not None:
        return None
    return Problem(
        ONE_NODE,
        each.claim.source,
        ("spec", _CLASS),
        f"{at_start(each.claim.source.name)} is of {_called(own)}, and {each.volume.source.name}, "
        f"which it names, of {_called(other)}: it is never bound to it, and pods of "
        f"{each.workload.source.name} stay Pending.",
        f"Write {_CLASS}: {other or _EMPTY} in the claim.",
    )


def _class_of(each: Pointer) -> Any:
    """The class that is written; None where none is, and not known where it may be another."""
    if each.spec is UNKNOWN or at(value_of(each), "metadata", "annotations", _BEFORE) is not None:
        return UNKNOWN
    return at(each.spec, _CLASS)


def _called(name: Any) -> str:
    return f"the class {name}" if name else "no class"


def _in_another_zone(each: _Named, inventory: Inventory, cluster: str) -> Problem | None:
    own = _zones_of_volume(each.volume)
    offers = grounds(inventory, cluster).places(each.workload, each.requests).offers if own else ()
    zones = zones_of([offer.kind.nodes for offer in offers])
    if not zones or not own.isdisjoint(zones):
        return None
    return Problem(
        ONE_NODE,
        each.volume.source,
        ("spec", "nodeAffinity"),
        f"{at_start(each.volume.source.name)} is in {', '.join(sorted(own))}, and "
        f"{each.workload.source.name}, whose claim names it, can only be in "
        f"{', '.join(sorted(zones))}.",
        "Take a volume in one of these zones, or let the nodes be in that of the volume.",
        "warning",
    )


def _zones_of_volume(volume: Pointer) -> frozenset[str]:
    """Those in which a volume can be reached; none where some of them are not known."""
    terms = items(at(volume.spec, *_AFFINITY))
    found = [
        [
            frozenset(map(str, items(at(one, "values"))))
            for one in items(at(term, "matchExpressions"))
            if at(one, "key") in _OF_VOLUMES and at(one, "operator") == "In"
        ]
        for term in terms
    ]
    is_known = all(found) and not has_unknown(terms)
    return frozenset[str]().union(*(each[0] for each in found)) if is_known else frozenset()
