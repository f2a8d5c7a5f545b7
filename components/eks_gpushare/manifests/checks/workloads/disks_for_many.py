"""Claims of pods with GPUs for disks that several nodes are to write to.

Sources, November 2026: `isValidCapability` in pkg/driver/controller.go of
kubernetes-sigs/aws-ebs-csi-driver (429e202e), which takes MULTI_NODE_MULTI_WRITER of block devices
alone; "Access modes" of https://kubernetes.io/docs/concepts/storage/persistent-volumes/ for the
other clouds; `volumeClaimTemplates` of https://argo-workflows.readthedocs.io/en/latest/fields/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.volumes import ATTACHED, EBS_NAME, is_default, is_named
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import ONE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

_FOR_MANY: Final = "ReadWriteMany"
_CLASS: Final = "storageClassName"
_KIND: Final = "PersistentVolumeClaim"
_TEMPLATE: Final = ("ephemeral", "volumeClaimTemplate", "spec")


class _Claim(NamedTuple):
    called: str
    source: Source
    place: FieldPath
    spec: Any


@edge(ONE_NODE)
def for_many(inventory: Inventory) -> Iterator[Judgement]:
    """Each claim once, whatever mounts it."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        said: set[tuple[str, FieldPath, str]] = set()
        for workload, _ in gpu_workloads(inventory, cluster):
            for claim in _claims(workload, pointers):
                key = claim.source.file, claim.place, claim.called
                disks = _disks(claim.spec, pointers)
                if disks and key not in said:
                    said.add(key)
                    yield Problem(
                        ONE_NODE,
                        claim.source,
                        (*claim.place, "accessModes"),
                        f"{claim.called} asks for {_FOR_MANY}, and {disks} makes disks, which are "
                        "attached to one node: it makes none of this claim, and the pods stay "
                        "Pending.",
                        "Name a class of a file system, such as EFS or FSx, or ask for "
                        "ReadWriteOnce.",
                    )


def _claims(workload: Workload, pointers: Sequence[Pointer]) -> Iterator[_Claim]:
    """Those that a workload's containers mount, be they said of the pod or of all around it."""
    source, given = workload.source, [container for _, container in containers(workload.spec)]
    mounts = [at(one, "name") for each in given for one in items(at(each, "volumeMounts"))]
    mounted = [name for name in mounts if isinstance(name, str)]
    named: list[Any] = [_of_model(at(each, "storageUri")) for each in given]
    for above, around in _levels(workload):
        for index, template in enumerate(items(at(around, "volumeClaimTemplates"))):
            name, spec = at(template, "metadata", "name"), at(template, "spec")
            if name in mounted:
                place: FieldPath = (*above, "volumeClaimTemplates", index, "spec")
                yield _Claim(f"The claim {name} of {source.name}", source, place, spec)
        for index, volume in enumerate(items(at(around, "volumes"))):
            name, spec = at(volume, "name"), at(volume, *_TEMPLATE)
            if name in mounted:
                place = (*above, "volumes", index, *_TEMPLATE)
                yield _Claim(f"The volume {name} of {source.name}", source, place, spec)
                named.append(at(volume, "persistentVolumeClaim", "claimName"))
    for each in pointers:
        if each.kind == _KIND and any(is_named(each, name, workload) for name in named):
            yield _Claim(at_start(each.source.name), each.source, ("spec",), each.spec)


def _levels(workload: Workload) -> Iterator[tuple[FieldPath, Any]]:
    """A workload's pod and what is around it, up to the whole object."""
    value, path = value_of(workload), workload.spec_path
    for depth, _ in enumerate((*path, "all of it")):
        yield path[:depth], at(value, *workload.source.path, *path[:depth])


def _of_model(address: Any) -> str | None:
    """The claim that KServe takes a model from."""
    kind, _, rest = str(address).partition("://")
    return rest.partition("/")[0] if kind == "pvc" else None


def _disks(spec: Any, pointers: Sequence[Pointer]) -> str:
    """The class by which a claim for many nodes gets a disk; empty where it gets none."""
    modes, name = at(spec, "accessModes"), at(spec, _CLASS)
    bound = [at(spec, "volumeName"), at(spec, "selector")]
    if has_unknown([modes, name, at(spec, "volumeMode"), bound]) or _FOR_MANY not in items(modes):
        return ""
    there = [each for each in pointers if each.kind == "PersistentVolume"]
    made = any(may_be_same(at(each.spec, _CLASS), name) for each in there)
    if any(bound) or made or at(spec, "volumeMode") == "Block":
        return ""
    classes = [
        each
        for each in pointers
        if each.kind == "StorageClass"
        and (each.name == name if name else name is None and is_default(each))
    ]
    if not classes:
        return f"the class {name}" if EBS_NAME.fullmatch(str(name)) else ""
    disks = all(str(at(each.spec, "provisioner")) in ATTACHED for each in classes)
    return classes[0].source.name if disks else ""
