"""Pods that run for good, and their replacement, where nodes can have no more GPUs or shares."""

from __future__ import annotations

import posixpath
import re
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.edges.amounts import in_all
from eks_gpushare.inventory.items import APPLIED, Pointer
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.nodes import unseen_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.shared_names import may_be_shared
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.scaling import scalers_of
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.scaling import NO_SPARE_GPU
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement

_DIGITS: Final = re.compile("[0-9]+")
_FOR_GOOD: Final = ("Deployment", "StatefulSet", "ReplicaSet")
"""Kinds whose pods are all there at the same time."""
_SURGE: Final = "25%"
"""What a Deployment has of both where nobody says."""


class Lasting(NamedTuple):
    """A workload whose pods are all there, on nodes of which all is known."""

    workload: Workload
    resource: str
    """The one resource of GPUs that its pods ask for."""
    each: int
    """How many of it a pod asks for."""
    replicas: int
    nodes: tuple[Offer, ...]
    applied_by: str
    """The result, the folder or the file that it is applied as a part of."""

    @property
    def held(self) -> int:
        """How many its pods hold together."""
        return self.each * self.replicas

    @property
    def beside(self) -> tuple[str, str, frozenset[int]]:
        """What is the same of workloads that are applied together and share their nodes."""
        nodes = frozenset(id(offer.kind.nodes) for offer in self.nodes)
        return self.applied_by, self.resource, nodes


@kept
def lasting_workloads(inventory: Inventory, cluster: str) -> tuple[Lasting, ...]:
    """The workloads of a cluster that are so: three checks look at them."""
    return tuple(_lasting(inventory, cluster))


def _lasting(inventory: Inventory, cluster: str) -> Iterator[Lasting]:
    ground = grounds(inventory, cluster)
    unseen = unseen_nodes(inventory, cluster)
    scalers = scalers_of(inventory, cluster)
    folders = applied_folders(inventory, cluster)
    for workload, requests in gpu_workloads(inventory, cluster):
        document, replicas = workload.source.document, workload.replicas
        asked = {each.resource for each in requests}
        if (
            workload.kind not in _FOR_GOOD
            or not isinstance(document, Document)
            or is_guide(document.file)
            or len(asked) != 1
            or not isinstance(replicas, int)
            or scalers(workload)  # which may make fewer
        ):
            continue
        (resource,) = asked
        gpus = in_all(workload, resource, requests)
        places = ground.places(workload, requests)
        spec = with_extended_tolerations(workload.spec) if unseen else None
        if any(landing(spec, each.nodes.taints, each.label).lands is not False for each in unseen):
            continue  # which may have GPUs
        if gpus and len(places.seen) == len(places.offers):
            applied_by = applied_with(document, folders)
            yield Lasting(workload, resource, gpus, replicas, places.seen, applied_by)


def applied_with(document: Document, folders: frozenset[str]) -> str:
    """What is applied with a document: its kustomization, a folder, or its file alone.

    Args:
        document: The document.
        folders: Folders that scripts apply whole.
    """
    folder = posixpath.dirname(posixpath.normpath(document.file))
    return document.build or (folder if folder in folders else document.file)


def applied_folders(inventory: Inventory, cluster: str) -> frozenset[str]:
    """Folders that scripts apply whole."""
    return frozenset(
        folder
        for each in inventory.of(Pointer, cluster)
        if each.kind == APPLIED
        for folder in items(at(each.spec, "folders"))
    )


@edge(NO_SPARE_GPU)
def all_at_once(inventory: Inventory) -> Iterator[Judgement]:
    """Pods that are applied together, where their nodes cannot have a GPU or share for each."""
    for cluster in inventory.clusters():
        shared = may_be_shared(inventory, cluster)
        held: dict[Any, int] = {}
        for each in lasting_workloads(inventory, cluster):
            room = _room(each, shared=shared)
            before = held.get(each.beside, 0)
            held[each.beside] = now = before + each.held
            if room is not None and before <= room < now:
                yield _too_small(each, before, room)


def _too_small(each: Lasting, before: int, room: int) -> Problem:
    nodes = " and ".join(dict.fromkeys(offer.kind.nodes.source.name for offer in each.nodes))
    beside = f" beside the {before} that those before it hold" if before else ""
    return Problem(
        NO_SPARE_GPU,
        each.workload.source,
        (),
        f"{at_start(each.workload.source.name)} asks for {each.held} of {each.resource}{beside}, "
        f"and {nodes} can have {room}.",
        "Let there be more nodes, or larger ones, or share their GPUs.",
    )


@edge(NO_SPARE_GPU)
def roll_outs(inventory: Inventory) -> Iterator[Judgement]:
    """Of Deployments whose pods, with one more, are more than all nodes can hold."""
    for cluster in inventory.clusters():
        shared = may_be_shared(inventory, cluster)
        every = lasting_workloads(inventory, cluster)
        held: dict[Any, int] = {}
        for each in every:
            held[each.beside] = held.get(each.beside, 0) + each.held
        for each in every:
            if each.workload.kind != "Deployment" or each.replicas < 1:
                continue
            room, now = _room(each, shared=shared), held[each.beside]
            if room is None or not must_surge(each.workload, each.replicas):
                continue
            if now <= room < now + each.each:
                yield _stuck(each, now, room)


def _room(each: Lasting, *, shared: bool) -> int | None:
    """The most that nodes can have together; None where that is not limited or known."""
    return most_together(each, lambda offer: _count(offer, each.resource, shared=shared))


def most_together(each: Lasting, count: Callable[[Offer], int | None]) -> int | None:
    """The most of something that nodes can have together; None where that is not known.

    Args:
        each: What may be on the nodes.
        count: How many of it a node has, None where that is not known.
    """
    total = 0
    by_nodes: dict[int, list[Offer]] = {}
    for offer in each.nodes:
        by_nodes.setdefault(id(offer.kind.nodes), []).append(offer)
    for alike in by_nodes.values():
        nodes = alike[0].kind.nodes
        counts = set(map(count, alike))
        if len(counts) != 1 or not (gpus := counts.pop()) or nodes.provisioner == "byHand":
            return None
        if isinstance(nodes.most, int):
            total += nodes.most * gpus
            continue
        # What Karpenter counts of nodes that have more than their GPUs changes as they come up.
        types = [offer.kind.type for offer in alike]
        whole = all(each is not None and each.gpu_count == gpus for each in types)
        most = quantity(str(text(at(nodes.limits, GPU))))
        if most is None or not whole or each.resource != GPU:
            return None
        total += floor(most / gpus) * gpus
    return total or None


def _count(offer: Offer, resource: str, *, shared: bool) -> int | None:
    """How many a node has of what pods ask for; None where that is not known."""
    if offer.kind.nodes.advertised:
        return None  # of a plan: `lint.against` tells
    if offer.resources is not None:
        return offer.resources.get(resource)
    # How those share GPUs cannot be read, or it is not seen who gives them out.
    if (
        offer.kind.serves_itself
        or offer.plugins
        or shared
        or resource != GPU
        or offer.kind.type is None
    ):
        return None
    return offer.kind.type.gpu_count


def must_surge(workload: Workload, replicas: int) -> bool:
    """Whether none of the old pods may end before a new one is ready."""
    document = workload.source.document
    value = document.value if isinstance(document, Document) else UNKNOWN
    strategy = at(value, "spec", "strategy")
    if has_unknown(strategy) or at(strategy, "type") == "Recreate":
        return False
    surge, unavailable = (
        at(strategy, "rollingUpdate", key) for key in ("maxSurge", "maxUnavailable")
    )
    return _of(unavailable, replicas, floor) == 0 and _of(surge, replicas, ceil) != 0


def _of(given: Any, replicas: int, rounded: Any) -> int | None:
    value = str(text(_SURGE if given is None else given))
    percent = value.endswith("%")
    digits = value.removesuffix("%")
    if not _DIGITS.fullmatch(digits):
        return None
    return int(rounded(int(digits) * replicas / 100)) if percent else int(digits)


def _stuck(each: Lasting, held: int, room: int) -> Problem:
    others = f" with those beside it, of which it has {each.held}," if held > each.held else ""
    return Problem(
        NO_SPARE_GPU,
        each.workload.source,
        (),
        f"{at_start(each.workload.source.name)} holds{others} {held} of the {room} of "
        f"{each.resource} that its nodes can have, and replaces its pods by starting the new one "
        "first.",
        "Write strategy: {type: Recreate}, or maxSurge: 0 and maxUnavailable: 1.",
    )
