"""Claims of pods with GPUs that name a volume which they cannot get.

Source: "Reserving a PersistentVolume" of
https://kubernetes.io/docs/concepts/storage/persistent-volumes/: a claim that names a volume is
bound to no other, and to that one only if their classes are the same; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.volumes import is_named
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import ONE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CLASS: Final = "storageClassName"
_BEFORE: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that said it once, and goes over the field."""
_EMPTY: Final = '""'


@edge(ONE_NODE)
def named_volumes(inventory: Inventory) -> Iterator[Judgement]:
    """Each claim once, whatever mounts it."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        there = [each for each in pointers if each.kind == "PersistentVolume"]
        said: set[int] = set()
        for workload, _ in gpu_workloads(inventory, cluster) if there else ():
            for claim in _claims(workload, pointers):
                volume = _meant(claim, there)
                own, other = _class_of(claim), _class_of(volume)
                known = UNKNOWN not in (own, other) and own is not None
                if volume is None or not known or own == (other or "") or id(claim) in said:
                    continue
                said.add(id(claim))
                yield Problem(
                    ONE_NODE,
                    claim.source,
                    ("spec", _CLASS),
                    f"{at_start(claim.source.name)} is of {_called(own)}, and "
                    f"{volume.source.name}, which it names, of {_called(other)}: it is never bound "
                    f"to it, and pods of {workload.source.name} stay Pending.",
                    f"Write {_CLASS}: {other or _EMPTY} in the claim.",
                )


def _claims(workload: Workload, pointers: Sequence[Pointer]) -> Iterator[Pointer]:
    for volume in items(at(workload.spec, "volumes")):
        name = at(volume, "persistentVolumeClaim", "claimName")
        for claim in pointers:
            if claim.kind == "PersistentVolumeClaim" and is_named(claim, name, workload):
                yield claim


def _meant(claim: Pointer, there: Sequence[Pointer]) -> Pointer | None:
    """The one volume that a claim names; None where it may be another one."""
    name = at(claim.spec, "volumeName")
    found = [each for each in there if each.name in (name, UNKNOWN)]
    return found[0] if isinstance(name, str) and name and len(found) == 1 else None


def _class_of(each: Pointer | None) -> Any:
    """The class that is written; None where none is, and not known where it may be another."""
    if each is None or each.name is UNKNOWN or each.spec is UNKNOWN:
        return UNKNOWN
    if at(value_of(each), "metadata", "annotations", _BEFORE) is not None:
        return UNKNOWN
    return at(each.spec, _CLASS)


def _called(name: Any) -> str:
    return f"the class {name}" if name else "no class"
