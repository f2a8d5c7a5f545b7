"""Volumes that are attached to one node, of pods with GPUs that one node cannot hold.

Sources: "Access modes" of https://kubernetes.io/docs/concepts/storage/persistent-volumes/ and the
drivers' own documentation; November 2026. Of file systems, and of folders of a node, the access
mode is a word that nothing holds to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.edges.amounts import in_all
from eks_gpushare.inventory.items import NodeSet, Pointer, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.shared_names import are_shared
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.scaling import most_pods, scalers_of
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.starting import ONE_NODE
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.landings import Grounds
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request

_OF_ONE_NODE: Final = frozenset(("ReadWriteOnce", "ReadWriteOncePod"))
ATTACHED: Final = frozenset(
    (
        *("ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", "kubernetes.io/aws-ebs"),
        *("pd.csi.storage.gke.io", "disk.csi.azure.com"),
    )
)
"""Drivers of disks of a cloud, which are attached to one machine."""
EBS_NAME: Final = re.compile(r"(?:.*-)?(?:ebs|gp2|gp3|io1|io2)(?:-.*)?")
"""How classes of EBS are called, where they are not here."""
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_TYPE: Final = "node.kubernetes.io/instance-type"
_HOST: Final = "kubernetes.io/hostname"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


@edge(ONE_NODE)
def volumes(inventory: Inventory) -> Iterator[Judgement]:
    """Of workloads with more pods than a node has GPUs for."""
    for cluster in inventory.clusters():
        held = inventory.of(Pointer, cluster)
        claims = [each for each in held if each.kind == "PersistentVolumeClaim"]
        if not claims or are_shared(inventory, cluster):
            continue  # how many pods a node has room for is decided elsewhere
        ground, scalers = grounds(inventory, cluster), scalers_of(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            most = most_pods(workload, scalers(workload))
            fit = _on_a_node(workload, requests, ground)
            if most is None or fit is None or fit >= most:
                continue
            for index, volume in enumerate(items(at(workload.spec, "volumes"))):
                name = at(volume, "persistentVolumeClaim", "claimName")
                claim = next((each for each in claims if is_named(each, name, workload)), None)
                if claim is not None and _is_of_one_node(claim, inventory, cluster):
                    yield _problem(workload, index, claim, most, fit)


def is_named(claim: Pointer, name: Any, workload: Workload) -> bool:
    """Whether a claim is the one that a workload means by a name.

    Args:
        claim: The PersistentVolumeClaim.
        name: The name, as it is written.
        workload: The workload.
    """
    return (
        isinstance(name, str)
        and claim.name == name
        and may_be_same(claim.namespace, workload.namespace)
    )


def _on_a_node(workload: Workload, requests: Sequence[Request], ground: Grounds) -> int | None:
    """How many of its pods a node has GPUs for, of those that they may be on."""
    if {each.resource for each in requests} != {GPU}:
        return None
    gpus = in_all(workload, GPU, requests)
    if not gpus:
        return None
    if _keeps_apart(workload):
        return 1
    found = [offer.kind.type for offer in ground.places(workload, requests).offers]
    named = at(workload.spec, "nodeSelector", _TYPE)
    if not found and not ground.every and isinstance(named, str):
        found = [CATALOG.find(named)]
    counts = [None if each is None else each.gpu_count for each in found]
    known = [count for count in counts if count]
    return max(known) // gpus if known and len(known) == len(counts) else None


def _keeps_apart(workload: Workload) -> bool:
    """Whether no two of its pods may be on one node."""
    terms = items(at(workload.spec, "affinity", "podAntiAffinity", _REQUIRED))
    return any(
        at(term, "topologyKey") == _HOST
        and selects(at(term, "labelSelector"), workload.labels) is True
        for term in terms
    )


def _is_of_one_node(claim: Pointer, inventory: Inventory, cluster: str) -> bool:
    modes = at(claim.spec, "accessModes")
    if has_unknown(modes) or not items(modes):
        return False
    return {str(mode) for mode in items(modes)} <= _OF_ONE_NODE and is_disk(
        claim, inventory, cluster
    )


def is_disk(claim: Pointer, inventory: Inventory, cluster: str) -> bool:
    """Whether a claim gets a disk of its own, which is as large as it says.

    Args:
        claim: The PersistentVolumeClaim.
        inventory: What there is.
        cluster: Where it is.
    """
    spec = claim.spec
    if has_unknown(at(spec, "storageClassName")) or at(spec, "volumeName"):
        return False
    classes = [e for e in inventory.of(Pointer, cluster) if e.kind == "StorageClass"]
    name = at(spec, "storageClassName")
    if name:
        found = next((each for each in classes if each.name == name), None)
        if found is None:
            return bool(EBS_NAME.fullmatch(str(name)))
        return at(found.spec, "provisioner") in ATTACHED
    by_default = [each for each in classes if is_default(each)]
    if by_default:
        return at(by_default[0].spec, "provisioner") in ATTACHED
    # EKS has no other class, or none at all.
    of_aws = any(each.provisioner != "byHand" for each in inventory.of(NodeSet, cluster))
    return name is None and of_aws and not classes


def is_default(storage: Pointer) -> bool:
    """Whether a StorageClass is that of claims that name none.

    Args:
        storage: The class.
    """
    return bool(text(at(value_of(storage), "metadata", "annotations", _DEFAULT)) == "true")


def _problem(workload: Workload, index: int, claim: Pointer, most: int, fit: int) -> Problem:
    room = f"GPUs for {fit} of them" if fit else "too few GPUs for one"
    return Problem(
        ONE_NODE,
        workload.source,
        (*workload.spec_path, "volumes", index),
        f"{at_start(workload.source.name)} has up to {most} pods, a node has {room}, and "
        f"{claim.source.name} is attached to one node.",
        "Take a file system with ReadWriteMany, such as EFS or FSx, or a StatefulSet with "
        "volumeClaimTemplates, which has a volume for each pod.",
    )
