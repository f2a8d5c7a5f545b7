"""Whether pools launch nodes at all, and nodes with what pods ask for, by their declarations."""

from __future__ import annotations

import re
from fractions import Fraction
from operator import and_
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.launches import ROOMY_GIB, uses_own_disks
from eks_gpushare.inventory.bottlerocket import runs_bottlerocket
from eks_gpushare.inventory.edges.amounts import count_of, in_all
from eks_gpushare.inventory.edges.queues import tolerations_of_flavors
from eks_gpushare.inventory.items import NodeLaunch, NodeSet, Overlay, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.matching import required_terms
from eks_gpushare.inventory.nodes import CATALOG, NodeKind, gpu_nodes, may_be_others
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.shared_names import sharings
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.scheduling.hami import asks_for_parts
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.room_of_pools import (
    MIXED,
    NO_DISK,
    NO_TYPE_HAS_IT,
    SMALL_BY_DEFAULT,
)
from eks_gpushare.sharing.labels import CONFIG_LABEL
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request

_GIB: Final = 2**30
_DATA: Final = "/dev/xvdb"
"""Where Bottlerocket has images and pods: https://bottlerocket.dev/en/os/latest/#/concepts/"""
_DEFAULT_GIB: Final = 20
_USABLE: Final = Fraction(9, 10)
"""Of a volume, at most, what pods may have: the kubelet evicts at a tenth."""
_STORAGE: Final = "ephemeral-storage"
_CATEGORY: Final = ("karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-family")
_GPU_CATEGORY: Final = re.compile(r"g|gr|p|(?:g[4-9]|p[2-9])[a-z0-9-]*")
_NOT_COUNTED: Final = ("g4ad", "g6f", "gr6f")
"""Families with GPUs of AMD, or with parts of NVIDIA's, of which EC2 counts none."""
_NONE: Final = re.compile(rf"(?:{'|'.join(_NOT_COUNTED)})\.")


def _declared(inventory: Inventory, cluster: str) -> list[list[NodeKind]]:
    """GPU nodes by declaration, each with all its types."""
    found: dict[int, list[NodeKind]] = {}
    for kind in gpu_nodes(inventory, cluster):
        if not kind.is_partial:
            found.setdefault(id(kind.nodes), []).append(kind)
    return list(found.values())


@edge(SMALL_BY_DEFAULT)
def volumes(inventory: Inventory) -> Iterator[Judgement]:
    """Of node classes of Karpenter, which have a default of their own."""
    for cluster in inventory.clusters():
        for kind, *_ in _declared(inventory, cluster):
            launch = kind.nodes.launch
            if isinstance(launch, NodeLaunch) and kind.nodes.provisioner == "karpenter":
                yield from _small(kind.nodes, launch)


def _has_disks(nodes: NodeSet, launch: NodeLaunch) -> bool:
    """Whether images go to the disks of the instance, or it cannot be seen where they go."""
    document = launch.source.document
    spec = at(document.value, "spec") if isinstance(document, Document) else UNKNOWN
    told = nodes.user_data
    hidden = UNKNOWN in (told, nodes.ami, launch.volumes) or has_unknown(spec)
    custom = str(at(spec, "amiFamily")) == "Custom"
    return (
        hidden or custom or at(spec, "instanceStorePolicy") is not None or uses_own_disks(str(told))
    )


def _small(nodes: NodeSet, launch: NodeLaunch) -> Iterator[Problem]:
    if _has_disks(nodes, launch):
        return
    given = () if launch.volumes is UNKNOWN else launch.volumes
    by_itself = runs_bottlerocket(nodes)
    data = next((each for each in given if each.device == _DATA), None) if by_itself else None
    if not given or (by_itself and data is None):
        what = f"{_DATA}, where Bottlerocket has images" if given else "a volume"
        yield Problem(
            SMALL_BY_DEFAULT,
            launch.source,
            ("blockDeviceMappings",) if given else (),
            f"{at_start(launch.source.name)} says nothing of {what}, and GPU nodes get "
            f"{_DEFAULT_GIB} GiB.",
            f"Give {_DATA if by_itself else '/dev/xvda'} {ROOMY_GIB} GiB or more under "
            "blockDeviceMappings.",
        )
    elif data is not None and isinstance(data.gib, Fraction):
        roomy = Fraction(ROOMY_GIB)
        sizes = [each.gib if isinstance(each.gib, Fraction) else roomy for each in given]
        # Where all are small, the largest is told of by itself.
        if data.gib < roomy <= max(sizes):
            yield Problem(
                SMALL_BY_DEFAULT,
                launch.source,
                data.path,
                f"{at_start(launch.source.name)} gives {_DATA}, where Bottlerocket has images, "
                f"{float(data.gib):g} GiB.",
                f"Give it {ROOMY_GIB} GiB or more.",
            )


@edge(NO_DISK)
def storage(inventory: Inventory) -> Iterator[Judgement]:
    """What GPU pods ask of the disk, against the volumes of all nodes that they may be on."""
    for cluster in inventory.clusters():
        declared = _declared(inventory, cluster)
        for workload, _ in gpu_workloads(inventory, cluster):
            asked = _asked(workload)
            if asked is None:
                continue
            meant = _meant(workload, declared)
            rooms = [_volume(each[0].nodes) for each in meant]
            known = [each for each in rooms if each is not None]
            if known and len(known) == len(rooms) and asked > max(known) * _GIB * _USABLE:
                place, gib = _place_of_storage(workload), float(asked / _GIB)
                yield Problem(
                    NO_DISK,
                    workload.source,
                    place,
                    f"{at_start(workload.source.name)} asks for {gib:g} GiB of disk, and the "
                    f"volume of {meant[0][0].nodes.source.name} has {float(max(known)):g} GiB for "
                    "system, images and pods.",
                    "Ask for less, or make the volume larger.",
                )


def _asked(workload: Workload) -> Fraction | None:
    found = Fraction()
    for where, container in containers(workload.spec):
        if where[0] == "containers":
            given = at(container, "resources", "requests", _STORAGE)
            given = at(container, "resources", "limits", _STORAGE) if given is None else given
            amount = None if given in (None, UNKNOWN) else quantity(str(text(given)))
            found += amount or 0
    return found or None


def _place_of_storage(workload: Workload) -> tuple[str | int, ...]:
    for where, container in containers(workload.spec):
        for part in ("requests", "limits"):
            if at(container, "resources", part, _STORAGE) is not None:
                return (*workload.spec_path, *where, "resources", part, _STORAGE)
    return workload.spec_path


def _volume(nodes: NodeSet) -> Fraction | None:
    """The size of the one volume of nodes; None where it is not known, or there are others."""
    launch = nodes.launch
    if not isinstance(launch, NodeLaunch) or launch.volumes is UNKNOWN:
        return None
    if _has_disks(nodes, launch):
        return None
    sizes = [each.gib for each in launch.volumes]
    known = [each for each in sizes if isinstance(each, Fraction)]
    return max(known) if known and len(known) == len(sizes) else None


def _meant(workload: Workload, declared: Sequence[list[NodeKind]]) -> list[list[NodeKind]]:
    """The nodes that nothing keeps the pods off, as far as is known."""
    spec = with_extended_tolerations(workload.spec)
    return [
        kinds
        for kinds in declared
        if any(landing(spec, each.nodes.taints, each.label).lands is not False for each in kinds)
    ]


@edge(MIXED)
def pools(inventory: Inventory) -> Iterator[Judgement]:
    """NodePools by themselves."""
    for cluster in inventory.clusters():
        for nodes in inventory.of(NodeSet, cluster):
            if not isinstance(nodes.source.document, Document):
                continue
            if nodes.provisioner == "karpenter":
                yield from _mixed(nodes)


def _mixed(nodes: NodeSet) -> Iterator[Problem]:
    document = nodes.source.document
    spec = at(getattr(document, "value", None), "spec", "template", "spec")
    listed = at(spec, "requirements")
    if (
        has_unknown(listed)
        or nodes.taints
        or at(spec, "nodeClassRef", "group") == "eks.amazonaws.com"
    ):
        return
    for index, each in enumerate(items(listed)):
        if at(each, "key") not in _CATEGORY or at(each, "operator") != "In":
            continue
        values = [str(text(value)) for value in items(at(each, "values"))]
        with_gpus = [value for value in values if _GPU_CATEGORY.fullmatch(value)]
        without = [value for value in values if value not in with_gpus]
        if with_gpus and without:
            yield Problem(
                MIXED,
                nodes.source,
                ("spec", "template", "spec", "requirements", index, "values"),
                f"{at_start(nodes.source.name)} launches types with GPUs ({', '.join(with_gpus)}) "
                f"and without ({', '.join(without)}), and no taint keeps pods without a GPU off.",
                "Make a pool of its own for GPUs, with a taint.",
            )


@edge(NO_TYPE_HAS_IT)
def types(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods that ask for whole GPUs, where nothing here shares any."""
    for cluster in inventory.clusters():
        pools = [
            _Type(NodeKind(nodes, CATALOG.find(name)), name)
            for nodes in inventory.of(NodeSet, cluster)
            if nodes.provisioner in ("karpenter", "managed", "selfManaged")
            for name in _names(nodes)
        ]
        others = may_be_others(inventory) and not any(each.gpus != 0 for each in pools)
        if inventory.of(Overlay, cluster) or others:
            continue  # what a node has is judged by that, or other nodes may be meant
        shared = bool(sharings(inventory, cluster))
        for workload, requests in gpu_workloads(inventory, cluster):
            by_flavors = tolerations_of_flavors(inventory, workload)  # which lead elsewhere
            if {each.resource for each in requests} == {GPU} and not by_flavors:
                shares = _shares(inventory, workload, requests) if shared else None
                yield from _enough(workload, requests, pools, shares)


class _Type(NamedTuple):
    """Nodes of one type, which the catalog may not have."""

    kind: NodeKind
    name: str

    @property
    def gpus(self) -> int | None:
        """GPUs of NVIDIA as an autoscaler counts them; None where it is not known."""
        found = self.kind.type
        if _NONE.match(self.name):
            return 0
        return None if found is None else found.api_gpu_count


def _names(nodes: NodeSet) -> tuple[str, ...]:
    """Types of nodes, or what begins them where families are named whose GPUs do not count."""
    if nodes.instance_types is UNKNOWN or nodes.instance_types:
        return () if nodes.instance_types is UNKNOWN else tuple(map(str, nodes.instance_types))
    spec = at(getattr(nodes.source.document, "value", None), "spec", "template", "spec")
    families = [
        str(text(value))
        for each in items(at(spec, "requirements"))
        if at(each, "key") == _CATEGORY[1] and at(each, "operator") == "In"
        for value in items(at(each, "values"))
    ]
    return tuple(f"{each}." for each in families) if {*families} <= {*_NOT_COUNTED} else ()


def _may_be_meant(name: str) -> bool:
    """Whether somebody may have taken a type for one with GPUs."""
    found = CATALOG.find(name)
    return found is None or bool(found.gpu_count)


def _shares(inventory: Inventory, workload: Workload, requests: Sequence[Request]) -> int:
    """How many nodes make of their GPUs at most; 0 where that is not known."""
    having = grounds(inventory, workload.cluster).having(requests).offers
    counts = [dict(each.resources or {}).get(GPU) for each in having]
    return max((count for count in counts if count is not None), default=0)


def _enough(
    workload: Workload, requests: Sequence[Request], pools: Sequence[_Type], shares: int | None
) -> Iterator[Problem]:
    """Whether a type has as many, as EC2 counts them, which is how Karpenter does.

    Of more than nodes are known to make of them by sharing it is told elsewhere.
    """
    wanted = _at_once(workload, requests)
    may_share = any(each.kind.type is not None for each in pools)
    if may_share and shares is not None and wanted is not None and wanted > shares:
        return
    spec = with_extended_tolerations(workload.spec)
    selects = bool(pairs(at(spec, "nodeSelector"))) or required_terms(spec) is not None
    fits = [(each, landing(spec, each.kind.nodes.taints, each.kind.label).lands) for each in pools]
    meant = [each for each, lands in fits if lands is not False]
    meant = [each for each in meant if _may_be_meant(each.name)] or meant
    # Of pods that select nothing, other pools may be meant.
    of_gpus = [each for each in pools if _may_be_meant(each.name)] or pools
    is_one = len({id(each.kind.nodes) for each in of_gpus}) == 1
    if not wanted or not meant or not (selects or is_one):
        return
    are_shared = [shares is not None or _is_shared(each.kind.nodes) for each in meant]
    others = [each.kind.nodes.provisioner != "karpenter" for each in meant]
    unseen = any(
        UNKNOWN in (n.labels, n.promised, n.user_data) for n in (e.kind.nodes for e in meant)
    )
    if unseen or any(map(and_, are_shared, others)):
        return
    known = [each.gpus for each in meant if each.gpus is not None]
    if len(known) < len(meant) or max(known) >= wanted:
        return
    nodes = meant[0].kind.nodes
    most = f"{max(known)}" if max(known) else "none of NVIDIA's that EC2 counts"
    yield Problem(
        NO_TYPE_HAS_IT,
        workload.source,
        requests[0].place,
        f"{at_start(workload.source.name)} asks for {wanted} of {GPU} in a pod, and the types of "
        f"{nodes.source.name} have {most}.",
        "Ask for no more than a type has, or name types with more.",
        # On a node of shares that is there already they may have room.
        None if nodes.provisioner == "karpenter" and not any(are_shared) else "warning",
    )


def _at_once(workload: Workload, requests: Sequence[Request]) -> int | None:
    """GPUs that a pod needs; of HAMi's parts those of one container, which others may share."""
    if not asks_for_parts(workload):
        return in_all(workload, GPU, requests)
    counts = [count_of(request) for request in requests]
    return None if None in counts else max(count for count in counts if count is not None)


def _is_shared(nodes: NodeSet) -> bool:
    """Whether something says that a node has more than its GPUs."""
    return bool(
        nodes.promised
        or nodes.advertised
        or any(key in (CONFIG_LABEL, "nvidia.com/mig.config") for key, _ in pairs(nodes.labels))
        or "device-sharing-strategy" in str(nodes.user_data)
    )
