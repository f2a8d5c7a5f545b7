"""Quotas of GPUs and shares are on what nodes advertise, and within what there can be."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.vcpus import VCPU_QUOTA, Group
from eks_gpushare.inventory.advertised import Offer, is_gpu_resource, offers
from eks_gpushare.inventory.items import PROMISED, NodeSet, Quota
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import is_misspelt
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

QUOTA_NAME = rule_of("GPU1150")
ABOVE_CAPACITY = rule_of("GPU1151")
PROMISED_TWICE = rule_of("GPU1152")
_QUEUE = "ClusterQueue"


@edge(QUOTA_NAME, ABOVE_CAPACITY, PROMISED_TWICE)
def quotas(inventory: Inventory) -> Iterator[Judgement]:
    """Each by itself, and those of Kueue together, for they are guarantees."""
    for cluster in inventory.clusters():
        every = offers(inventory, cluster).every
        # What a queue of Volcano may have is a ceiling, of which files alone tell too little.
        found = [
            quota
            for quota in inventory.of(Quota, cluster)
            if quota.kind not in ("Queue", PROMISED) or inventory.complete
        ]
        if not found or not (every or inventory.complete):
            continue
        sums: dict[str, int] = {}
        most = cache(partial(_Most.of, every))
        for quota in found:
            if quota.hard is UNKNOWN:
                yield NotSeen(QUOTA_NAME, quota.source, f"what {quota.source.name} allows")
                continue
            for name, given in pairs(quota.hard):
                if is_gpu_resource(name) or is_misspelt(name):
                    yield from _one(quota, name, given, every, most(name))
                    if quota.kind == _QUEUE:
                        sums[name] = sums.get(name, 0) + (_count(given) or 0)
        yield from _together(found, sums, most)


class _Most(NamedTuple):
    """How many there are of a resource, worked out once for all its quotas."""

    is_lacking: bool
    """Whether no node has it."""
    capacity: int | None

    @classmethod
    def of(cls, every: Sequence[Offer], name: str) -> _Most:
        lacking = all(offer.has(name) is False for offer in every)
        return cls(lacking, capacity(name, every))


def _one(
    each: Quota, name: str, given: Any, every: Sequence[Offer], there: _Most
) -> Iterator[Problem]:
    count = _count(given)
    of_namespace = each.kind == "ResourceQuota"
    path = ("spec", "hard", f"requests.{name}") if of_namespace else ("spec",)
    if there.is_lacking:
        if count == 0 or given is UNKNOWN:
            return  # nobody may have it, and nobody could
        names = dict.fromkeys(key for offer in every for key in offer.resources or ())
        listed = ", ".join(names) or "no GPU"
        yield Problem(
            QUOTA_NAME,
            each.source,
            path,
            f"{at_start(each.source.name)} is on {name}, which no node advertises: the nodes have "
            f"{listed}.",
            "Set the quota on one of those, each of them by its own name.",
        )
        return
    most = there.capacity
    if count is not None and most is not None and count > most:
        yield Problem(
            ABOVE_CAPACITY,
            each.source,
            path,
            f"{at_start(each.source.name)} allows {count} of {name}{_there(each)}, and all nodes "
            f"have {most} when there are as many as there may be.",
            f"Lower it to {most}, or let there be more nodes.",
        )


def _there(quota: Quota) -> str:
    known = quota.kind == "ResourceQuota" and isinstance(quota.namespace, str) and quota.namespace
    return f" in the namespace {quota.namespace}" if known else ""


def _together(
    found: Sequence[Quota], sums: dict[str, int], there: Callable[[str], _Most]
) -> Iterator[Problem]:
    for name, total in sums.items():
        most = there(name).capacity
        queues = [quota for quota in found if quota.kind == _QUEUE and _has(quota, name)]
        alone = [_count(dict(pairs(queue.hard))[name]) or 0 for queue in queues]
        if most is None or total <= most or any(count > most for count in alone):
            continue
        listed = ", ".join(queue.source.name for queue in queues)
        yield Problem(
            PROMISED_TWICE,
            queues[-1].source,
            ("spec",),
            f"{at_start(listed)} have nominal quotas of {total} of {name} together, and all nodes "
            f"have {most} when there are as many as there may be.",
            "Lower the nominal quotas, and put the queues into a cohort to lend each other the "
            "rest.",
        )


def vcpus(inventory: Inventory) -> Iterator[Group[NodeSet] | NotSeen]:
    """What EC2's quotas count of each declaration of nodes at its largest."""
    for nodes in inventory.of(NodeSet):
        if nodes.provisioner in ("byHand", "autoMode"):
            continue
        title, types, ways = nodes.source.name, nodes.instance_types, nodes.bought_as
        if types is UNKNOWN or ways is UNKNOWN or UNKNOWN in (nodes.most, nodes.limits):
            what = "types" if types is UNKNOWN else "number"
            yield NotSeen(VCPU_QUOTA, nodes.source, f"the {what} of {title}")
            continue
        known = {name: CATALOG.find(str(name)) for name in types}
        for name, found in known.items():
            if found is None:
                yield NotSeen(VCPU_QUOTA, nodes.source, f"the vCPUs of {name} of {title}")
        most = {
            found.name: count
            for found in known.values()
            if found is not None and (count := _most_of(nodes, found)) is not None
        }
        if most:
            there = [found for found in known.values() if found is not None and found.name in most]
            yield Group(nodes, most, there, ways)


def _most_of(nodes: NodeSet, instance_type: InstanceType) -> int | None:
    """Most nodes of a type: as declared, or as many as the limits of a NodePool have room for."""
    if isinstance(nodes.most, int):
        return nodes.most
    sizes = {"nodes": 1, "cpu": instance_type.vcpus, GPU: instance_type.gpu_count}
    room = [
        count // sizes[key]
        for key, given in pairs(nodes.limits)
        if sizes.get(key) and (count := _count(given)) is not None
    ]
    return min(room, default=None)


def _has(each: Quota, name: str) -> bool:
    return each.hard is not UNKNOWN and name in each.hard


def _count(given: Any) -> int | None:
    found = None if given is UNKNOWN else quantity(str(text(given)))
    return None if found is None else int(found)


def capacity(name: str, every: Sequence[Offer]) -> int | None:
    """Most of a resource that there can be; None where nothing limits it or it is not known."""
    declared: dict[int, list[Offer]] = {}
    for offer in every:
        declared.setdefault(id(offer.kind.nodes), []).append(offer)
    total = 0
    for group in declared.values():
        if all(offer.has(name) is False for offer in group):
            continue
        counts = [
            None if offer.resources is None else offer.resources.get(name, 0) for offer in group
        ]
        known = [count for count in counts if count is not None]
        most = _most(group)
        if most is None or len(known) < len(counts):
            return None
        total += most * max(known)
    return total


def _most(group: Sequence[Offer]) -> int | None:
    """Most nodes of a declaration: as it says, or as many as its limits of GPUs leave room for."""
    nodes = group[0].kind.nodes
    if isinstance(nodes.most, int):
        return nodes.most
    if nodes.limits is UNKNOWN:
        return None
    limits: list[int] = []
    for key, given in pairs(nodes.limits):
        limit = _count(given)
        if limit is None:
            continue
        sizes = [_size(key, offer) for offer in group]
        known = [size for size in sizes if size]
        if len(known) == len(sizes):
            limits.append(limit // min(known) + (1 if limit % min(known) else 0))
    return min(limits, default=None)


def _size(key: str, offer: Offer) -> int | None:
    """How much of what a NodePool limits one node takes."""
    instance_type = offer.kind.type
    if key == "nodes":
        return 1
    if instance_type is None:
        return None
    if key == "cpu":
        return instance_type.vcpus
    return instance_type.gpu_count if key == GPU else None
