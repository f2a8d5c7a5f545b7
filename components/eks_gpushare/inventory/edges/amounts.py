"""How many GPUs, or shares of one, pods ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import Offer, is_gpu_resource, offers
from eks_gpushare.inventory.items import PART_OF_POD, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.pod_totals import containers, pod_total, turn_of
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import Request, gpu_workloads
from eks_gpushare.inventory.shared_names import alone
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.pod_totals import Turn
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.shared_names import Sharing

_TOKEN: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""A word such as GPU_COUNT, which a program of one's own replaces."""
SEVERAL_SHARES = rule_of("GPU1113")
AMOUNT = rule_of("GPU1114")
TOO_MANY = rule_of("GPU1115")


@edge(AMOUNT)
def whole_numbers(inventory: Inventory) -> Iterator[Judgement]:
    """What the API server says of amounts of a resource that is not its own."""
    for cluster in inventory.clusters():
        for workload, requests in gpu_workloads(inventory, cluster, parts=True):
            for request in requests:
                yield from _amount(workload, request)
        for workload in inventory.of(Workload, cluster):
            yield from _of_pod(workload)


def _of_pod(workload: Workload) -> Iterator[Problem]:
    """What a pod asks for as a whole, which may be CPU, memory and huge pages.

    https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/
    """
    for part in ("limits", "requests"):
        for name, _ in pairs(at(workload.spec, "resources", part)):
            if is_gpu_resource(name):
                yield Problem(
                    AMOUNT,
                    workload.source,
                    (*workload.spec_path, "resources", part, name),
                    f"{at_start(workload.source.name)} asks for {name} for the pod as a whole.",
                    "Write it under `resources.limits` of the container that uses it.",
                )


def _amount(workload: Workload, request: Request) -> Iterator[Problem]:
    given = [amount for amount in (request.request, request.limit) if amount is not None]
    if any(isinstance(amount, dict | list) for amount in given):
        return  # a kind of somebody's own that says how to choose one
    if not given or UNKNOWN in given or any(_TOKEN.fullmatch(str(text(each))) for each in given):
        return
    amounts = [_quantity(amount) for amount in given]
    name = at_start(workload.source.name)
    asked = f"{name} asks for {text(given[0])} of {request.resource}"
    if any(fraction is None or fraction.denominator != 1 or fraction < 0 for fraction in amounts):
        fix = "Ask for 1: the nodes decide of how large a part of a GPU one is."
        yield Problem(AMOUNT, workload.source, request.place, f"{asked}, no whole number.", fix)
    elif request.limit is None and amounts != [0]:
        path = (*request.place[:-2], "limits", request.resource)
        yield Problem(
            AMOUNT,
            workload.source,
            request.place,
            f"{asked} under requests alone; it has to stand under limits.",
            f"Write `limits: {{{request.resource}: {text(request.request)}}}`.",
            edits=(Edit("set", path, request.request),),
        )
    elif len(set(amounts)) > 1:
        message = f"{asked} and limits it to {text(request.limit)}; the two must be the same."
        fix = "Leave the request out, which is then the limit."
        yield Problem(AMOUNT, workload.source, request.place, message, fix)


def _quantity(given: Any) -> Fraction | None:
    return quantity(str(text(given)))


def count_of(request: Request) -> int | None:
    """How many a container asks for; None where that is not known, or no number."""
    amount = request.amount
    found = None if amount is UNKNOWN else _quantity(amount)
    return int(found) if found is not None and found.denominator == 1 else None


@edge(SEVERAL_SHARES)
def of_one_profile(inventory: Inventory) -> Iterator[Judgement]:
    """MIG devices of two profiles in one container, of which a program uses one.

    Each profile has a plugin, and each sets NVIDIA_VISIBLE_DEVICES: the kubelet keeps one of them,
    and CUDA uses one MIG device: https://github.com/NVIDIA/k8s-device-plugin/issues/728.
    """
    for cluster in inventory.clusters():
        for workload, requests in gpu_workloads(inventory, cluster):
            asked: dict[tuple[object, object], list[Request]] = {}
            for request in requests:
                if request.resource.startswith(MIG_PREFIX) and count_of(request) != 0:
                    kind, index = request.place[len(workload.spec_path) :][:2]
                    asked.setdefault((kind, index), []).append(request)
            for first, *others in asked.values():
                other = next((each for each in others if each.resource != first.resource), None)
                if other is not None:
                    yield Problem(
                        SEVERAL_SHARES,
                        workload.source,
                        other.place,
                        f"{at_start(workload.source.name)} asks for {first.resource} and "
                        f"{other.resource} in one container, and CUDA uses one MIG device: of the "
                        "two, one is idle or not even seen.",
                        "Ask for one profile, or use a container for each.",
                        "warning",
                    )


@edge(SEVERAL_SHARES, TOO_MANY)
def as_many_as_there_are(inventory: Inventory) -> Iterator[Judgement]:
    """Of nodes that have the resource at all."""
    for cluster in inventory.clusters():
        every = offers(inventory, cluster).every
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster, parts=True):
            is_part = workload.kind == PART_OF_POD
            may_be_on = (
                ground.having(requests) if is_part else ground.places(workload, requests)
            ).offers
            by_itself = None if every else alone(inventory, cluster)
            for request in requests:
                yield from _several(workload, request, may_be_on or every, by_itself)
            for resource in dict.fromkeys(request.resource for request in requests):
                yield from _too_many(workload, resource, requests, may_be_on)


def _several(
    workload: Workload, request: Request, every: Sequence[Offer], by_itself: Sharing | None
) -> Iterator[Problem]:
    """Of nodes that the pods may be on: other pools may have whole GPUs by the same name."""
    count = count_of(request)
    if count is None or count <= 1:
        return
    having = [offer for offer in every if offer.has(request.resource)]
    base = request.resource.removesuffix(SHARED_SUFFIX)
    if having:
        shared = all(offer.is_shared(request.resource) for offer in having)
        configs = [offer.config for offer in having]
    elif by_itself is not None:
        shared = by_itself.config.replicas.get(base, 1) > 1
        configs = [by_itself.config]
    else:  # nothing says who advertises it, but the name tells
        shared = request.resource.endswith(SHARED_SUFFIX)
        configs = []
    # More than one GPU has are shares of several.
    one = all(each is None or count <= each.replicas.get(base, count) for each in configs)
    refuses = bool(configs) and all(each and each.refuses_several for each in configs)
    if not shared or not (one or refuses):
        return
    nodes = having[0].kind.nodes.source.name if having else ""
    if not having and by_itself is not None:
        nodes = by_itself.daemon.source.name
    who = f" of {nodes}" if nodes else ""
    # Of nodes with several GPUs the plugin gives shares of as many as are asked for.
    types = [offer.kind.type for offer in having]
    alone_there = bool(types) and all(each is not None and each.gpu_count == 1 for each in types)
    if refuses:
        then = f"The device plugin{who} refuses that"
    elif alone_there:
        then = f"Pods take turns on each{who}, so that {count} give no more than one"
    else:
        then = f"Pods take turns on each{who}, so that {count} of one GPU give no more than one"
    yield Problem(
        SEVERAL_SHARES,
        workload.source,
        request.place,
        f"{at_start(workload.source.name)} asks for {count} of {request.resource} in one "
        f"container. {then}.",
        "Ask for 1; for more time have fewer replicas, or take nodes whose GPUs are not shared.",
        None if refuses else "warning" if alone_there else "info",
    )


def _too_many(
    workload: Workload, resource: str, requests: Sequence[Request], having: Sequence[Offer]
) -> Iterator[Problem]:
    # Of nodes that the pods may be on; what keeps them off all others is said elsewhere.
    counts = [
        None if offer.resources is None else offer.resources.get(resource) for offer in having
    ]
    known = [count for count in counts if count is not None]
    if not having or len(known) < len(having):
        return
    wanted = in_all(workload, resource, requests)
    if wanted is not None and wanted > max(known):
        place = next(request.place for request in requests if request.resource == resource)
        yield Problem(
            TOO_MANY,
            workload.source,
            place,
            f"{at_start(workload.source.name)} asks for {wanted} of {resource} in a pod, and a "
            f"node has {max(known)} at most.",
            f"Ask for {max(known)} at most, or take nodes with more.",
        )


def in_all(workload: Workload, resource: str, requests: Sequence[Request]) -> int | None:
    """What a pod asks for of a resource, or None where that is not known."""
    asked: list[tuple[Turn, dict[str, int]]] = []
    turns = {where: turn_of(where[0], container) for where, container in containers(workload.spec)}
    for request in requests:
        if request.resource != resource:
            continue
        count = count_of(request)
        if count is None:
            return None
        kind, index = request.place[len(workload.spec_path) :][:2]
        asked.append((turns[str(kind), int(index)], {resource: count}))
    return pod_total(asked).get(resource, 0)
