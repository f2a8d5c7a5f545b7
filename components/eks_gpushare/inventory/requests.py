"""What pods ask for of GPUs, and where that is written."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.daemons import role_of
from eks_gpushare.inventory.items import PART_OF_POD, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at, pairs, text
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory


_KNOWN = ("gpu", "gpu.shared")
_OTHERS = ("pgpu", "vgpu")
"""Of KubeVirt's device plugin, for GPUs that are handed to virtual machines."""
_ALIKE = 0.8


class Request(NamedTuple):
    """What one container asks for of one resource."""

    resource: str
    request: Any
    """As written under requests, None where it is not."""
    limit: Any
    """The same under limits."""
    place: FieldPath
    """Of the resource's key, below the workload's source."""
    container: str
    """Name of the container."""

    @property
    def amount(self) -> Any:
        """What counts: the request, or the limit where there is none."""
        return self.limit if self.request is None else self.request


@lru_cache(maxsize=1024)
def is_misspelt(name: str) -> bool:
    """Whether a resource is none of GPUs, and meant to be one: `nvidia.com/gpus`."""
    prefix, _, last = name.partition("/")
    if prefix != "nvidia.com" or is_gpu_resource(name) or last in _OTHERS:
        return False
    small = last.lower()
    return any(
        sorted(small) == sorted(known) or SequenceMatcher(None, small, known).ratio() > _ALIKE
        for known in _KNOWN
    )


def requests_of(workload: Workload) -> Iterator[Request]:
    """What the containers of a workload ask for of GPUs."""
    for where, container in containers(workload.spec):
        given = {part: at(container, "resources", part) for part in ("limits", "requests")}
        limits, requests = (dict(pairs(amounts)) for amounts in given.values())
        # What is missing in a block that is not known may be there.
        absent = {
            part: UNKNOWN if item is UNKNOWN or isinstance(item, PartlyKnown) else None
            for part, item in given.items()
        }
        for name in dict.fromkeys([*limits, *requests]):
            if is_gpu_resource(name) or is_misspelt(name):
                part = "limits" if name in limits else "requests"
                yield Request(
                    name,
                    requests.get(name, absent["requests"]),
                    limits.get(name, absent["limits"]),
                    (*workload.spec_path, *where, "resources", part, name),
                    str(at(container, "name") or where[-1]),
                )


def asks_for_none(request: Request) -> bool:
    """Whether a container asks for 0 of a resource, as it would by leaving it out."""
    given = [amount for amount in (request.request, request.limit) if amount is not None]
    return bool(given) and all(
        amount is not UNKNOWN and quantity(str(text(amount))) == 0 for amount in given
    )


def has_the_only_gpu(inventory: Inventory, workload: Workload) -> bool:
    """Whether a pod is given a GPU, and no part of one, and no node has a second one."""
    given = [each.resource for each in requests_of(workload) if not asks_for_none(each)]
    whole = bool(given) and not any(each.startswith(MIG_PREFIX) for each in given)
    return whole and _have_one_each(inventory, workload.cluster)


@kept
def _have_one_each(inventory: Inventory, cluster: str) -> bool:
    kinds = gpu_nodes(inventory, cluster)
    return bool(kinds) and all(each.type is not None and each.type.gpu_count == 1 for each in kinds)


def gpu_workloads(
    inventory: Inventory, cluster: str, *, parts: bool = False
) -> Iterator[tuple[Workload, tuple[Request, ...]]]:
    """The workloads of a cluster that ask for GPUs, but those that make GPUs known.

    Args:
        inventory: What there is.
        cluster: The cluster.
        parts: Parts of pods too, where all of the cluster is there: what they ask for is known,
            and not where they may be.
    """
    for workload, found in _asking(inventory, cluster):
        if workload.kind != PART_OF_POD or (parts and inventory.complete):
            yield workload, found


@kept
def _asking(inventory: Inventory, cluster: str) -> tuple[tuple[Workload, tuple[Request, ...]], ...]:
    """All of them, parts of pods too: a dozen checks look at each."""
    found = []
    for workload in inventory.of(Workload, cluster):
        asked = tuple(request for request in requests_of(workload) if not asks_for_none(request))
        if asked and not (workload.kind == "DaemonSet" and role_of(workload.spec)):
            found.append((workload, asked))
    return tuple(found)
