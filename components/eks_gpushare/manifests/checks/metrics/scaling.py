"""Autoscalers of workloads with GPUs, and how their pods are replaced."""

from __future__ import annotations

import re
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.by_value import ByValue, together
from eks_gpushare.inventory.edges.amounts import in_all
from eks_gpushare.inventory.items import SCALERS, Pointer, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.shared_names import may_be_shared
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.scaling import (
    METRIC_NAME,
    NO_SPARE_GPU,
    NOBODY_WAKES,
    NOT_MEASURED,
    NOT_OF_MIG,
    TWO_SCALERS,
)
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request

_TAKES_OVER: Final = "scaledobject.keda.sh/transfer-hpa-ownership"
_OF_PODS: Final = re.compile(r"(?:vllm[:_]|sglang[:_]|tgi_|nv_|DCGM_FI_|container_)[A-Za-z0-9_]*")
"""Metrics of the servers themselves, of their containers, and of the GPUs that they hold."""
_SELECTED: Final = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)\s*[{\[]")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_UTILISATION: Final = re.compile(r"DCGM_FI_DEV_(?:GPU|MEM_COPY|ENC|DEC)_UTIL")
_UNDERSCORE: Final = re.compile(
    r"\bvllm_((?:num_requests_(?:running|waiting|swapped)|(?:gpu|cpu|kv)_cache_usage_perc"
    r"|(?:prompt|generation)_tokens_total|time_to_first_token_seconds[A-Za-z0-9_]*"
    r"|e2e_request_latency_seconds[A-Za-z0-9_]*|request_[A-Za-z0-9_]+))"
)
_RESOURCES: Final = ("cpu", "memory")
_DIGITS: Final = re.compile("[0-9]+")
_FOR_GOOD: Final = ("Deployment", "StatefulSet", "ReplicaSet")
"""Kinds whose pods are all there at the same time."""
_SURGE: Final = "25%"
"""What a Deployment has of both where nobody says."""


@edge(TWO_SCALERS, NOBODY_WAKES, NOT_OF_MIG, METRIC_NAME, NOT_MEASURED)
def scalers(inventory: Inventory) -> Iterator[Judgement]:
    """Those of workloads that ask for GPUs."""
    for cluster in inventory.clusters():
        asking = ByValue(
            gpu_workloads(inventory, cluster),
            lambda pair: [together(pair[0].namespace, pair[0].name)],
        )
        said: dict[int, Pointer] = {}
        for pointer in inventory.of(Pointer, cluster):
            if pointer.kind not in SCALERS:
                continue
            yield from _names(pointer)
            name = at(pointer.spec, "scaleTargetRef", "name")
            for workload, requests in asking.may_have(together(pointer.namespace, name)):
                if not _scales(pointer, workload):
                    continue
                first = said.setdefault(id(workload), pointer)
                if first is not pointer and not _takes_over((first, pointer)):
                    yield _twice(workload, first, pointer)
                yield from _metrics(pointer, on_mig=are_on_mig(inventory, workload, requests))
                yield from _of_resources(pointer)


def _scales(pointer: Pointer, workload: Workload) -> bool:
    target = at(pointer.spec, "scaleTargetRef")
    kind, name = text(at(target, "kind")) or "Deployment", at(target, "name")
    return (
        name is not UNKNOWN
        and kind == workload.kind
        and name == workload.name
        and may_be_same(pointer.namespace, workload.namespace)
    )


def _takes_over(pointers: Sequence[Pointer]) -> bool:
    """Whether KEDA is told to go on with an autoscaler that is there."""
    values = [
        each.source.document.value if isinstance(each.source.document, Document) else None
        for each in pointers
    ]
    return any(
        text(at(value, "metadata", "annotations", _TAKES_OVER)) == "true" for value in values
    )


def _twice(workload: Workload, first: Pointer, other: Pointer) -> Problem:
    one, two = first.source.name, other.source.name
    return Problem(
        TWO_SCALERS,
        other.source,
        ("spec", "scaleTargetRef"),
        f"{at_start(one)} and {'another' if one == two else two} both scale "
        f"{workload.source.name}.",
        "Keep one of them: a ScaledObject may have several triggers, and a HorizontalPodAutoscaler "
        "several metrics.",
    )


def are_on_mig(inventory: Inventory, workload: Workload, requests: Sequence[Request]) -> bool:
    """Whether what pods ask for is MIG devices, by its name or on all nodes that they may be on."""
    if all(each.resource.startswith(MIG_PREFIX) for each in requests):
        return True
    found = grounds(inventory, workload.cluster).places(workload, requests).offers
    return bool(found) and all(each.mig.instances and not each.mig.whole for each in found)


def _metrics(pointer: Pointer, *, on_mig: bool) -> Iterator[Problem]:
    triggers = items(at(pointer.spec, "triggers"))
    if has_unknown(triggers):
        return
    for index, trigger in enumerate(triggers):
        query = at(trigger, "metadata", "query")
        if not isinstance(query, str):
            continue
        place = ("spec", "triggers", index, "metadata", "query")
        called = f"The query of trigger {index} of {pointer.source.name}"
        bare = _QUOTED.sub("", query)
        found = _UTILISATION.search(bare)
        if found and on_mig:
            yield Problem(
                NOT_OF_MIG,
                pointer.source,
                place,
                f"{called} is for {found[0]}, and the pods have MIG devices.",
                "Use DCGM_FI_PROF_GR_ENGINE_ACTIVE, a part of 1.",
            )
    if _goes_to_zero(pointer) and triggers and all(map(_needs_pods, triggers)):
        yield Problem(
            NOBODY_WAKES,
            pointer.source,
            ("spec", "triggers"),
            f"{at_start(pointer.source.name)} goes to zero, and its triggers are of what its own "
            "pods export.",
            "Set minReplicaCount: 1, or add a trigger on what waits outside of the pods: a queue, "
            "or the requests at a gateway.",
        )


def _names(pointer: Pointer) -> Iterator[Problem]:
    """Metrics that a server would have by another name, whatever is scaled by them."""
    for index, trigger in enumerate(items(at(pointer.spec, "triggers"))):
        query = at(trigger, "metadata", "query")
        by_name = isinstance(query, str) and at(trigger, "type") == "prometheus"
        named = _UNDERSCORE.search(_QUOTED.sub("", query)) if by_name else None
        if named:
            yield Problem(
                METRIC_NAME,
                pointer.source,
                ("spec", "triggers", index, "metadata", "query"),
                f"The query of trigger {index} of {pointer.source.name} is for {named[0]}, and "
                f"vLLM's metric is vllm:{named[1]}.",
                f"Write vllm:{named[1]}.",
            )


def _of_resources(pointer: Pointer) -> Iterator[Problem]:
    """Metrics of what a pod uses of a resource."""
    for index, metric in enumerate(items(at(pointer.spec, "metrics"))):
        for key in ("resource", "containerResource"):
            named = text(at(metric, key, "name"))
            if named in (UNKNOWN, "", *_RESOURCES):
                continue
            yield Problem(
                NOT_MEASURED,
                pointer.source,
                ("spec", "metrics", index, key, "name"),
                f"{at_start(pointer.source.name)} goes by how much of {named} its pods use, which "
                "nothing measures.",
                "Use a metric of type Pods or External, such as DCGM_FI_DEV_GPU_UTIL by an adapter "
                "for Prometheus, or a ScaledObject of KEDA.",
            )


def _goes_to_zero(pointer: Pointer) -> bool:
    least, idle = (at(pointer.spec, key) for key in ("minReplicaCount", "idleReplicaCount"))
    return text(least if idle is None else idle) in ("", "0")


def _needs_pods(trigger: Any) -> bool:
    """Whether a trigger has a value only while there are pods."""
    if at(trigger, "type") in _RESOURCES:
        return True
    query = at(trigger, "metadata", "query")
    if at(trigger, "type") != "prometheus" or not isinstance(query, str):
        return False
    bare = _QUOTED.sub("", query)
    selected = _SELECTED.findall(bare)
    of_pods = _OF_PODS.findall(bare)
    return bool(of_pods) and "vector(" not in bare and all(map(_OF_PODS.fullmatch, selected))


@edge(NO_SPARE_GPU)
def all_at_once(inventory: Inventory) -> Iterator[Judgement]:
    """Pods of one file that run for good, where their nodes cannot have a GPU for each."""
    for cluster in inventory.clusters():
        if may_be_shared(inventory, cluster):
            continue
        ground = grounds(inventory, cluster)
        scaled = [each for each in inventory.of(Pointer, cluster) if each.kind in SCALERS]
        held: dict[tuple[str, frozenset[int]], int] = {}
        for workload, requests in gpu_workloads(inventory, cluster):
            document, replicas = workload.source.document, workload.replicas
            places = ground.places(workload, requests)
            gpus = in_all(workload, GPU, requests)
            if (
                workload.kind not in _FOR_GOOD
                or not isinstance(document, Document)
                or is_guide(document.file)
                or {each.resource for each in requests} != {GPU}
                or not (gpus and isinstance(replicas, int))
                or len(places.seen) != len(places.offers)
                or any(_scales(each, workload) for each in scaled)  # which may make fewer
            ):
                continue
            room = _room(places.seen)
            key = document.file, frozenset(id(offer.kind.nodes) for offer in places.seen)
            before = held.get(key, 0)
            held[key] = before + gpus * replicas
            if room is not None and before <= room < held[key]:
                yield _too_small(workload, (before, gpus * replicas, room), places.seen)


def _too_small(
    workload: Workload, counts: tuple[int, int, int], offers: Sequence[Offer]
) -> Problem:
    before, wanted, room = counts
    nodes = " and ".join(dict.fromkeys(offer.kind.nodes.source.name for offer in offers))
    beside = f" beside the {before} that those before it hold" if before else ""
    return Problem(
        NO_SPARE_GPU,
        workload.source,
        (),
        f"{at_start(workload.source.name)} asks for {wanted} of {GPU}{beside}, and {nodes} can "
        f"have {room}.",
        "Let there be more nodes, or larger ones, or share their GPUs.",
    )


@edge(NO_SPARE_GPU)
def roll_outs(inventory: Inventory) -> Iterator[Judgement]:
    """Of Deployments whose pods, with one more, are more than all nodes can hold."""
    for cluster in inventory.clusters():
        if may_be_shared(inventory, cluster):
            continue
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            if workload.kind != "Deployment" or {r.resource for r in requests} != {GPU}:
                continue
            gpus, room = in_all(workload, GPU, requests), _room(ground.places(workload).seen)
            replicas = workload.replicas
            if not gpus or room is None or not isinstance(replicas, int) or replicas < 1:
                continue
            if must_surge(workload, replicas) and replicas * gpus <= room < (replicas + 1) * gpus:
                yield _stuck(workload, replicas * gpus, room)


def _room(offers: Sequence[Offer]) -> int | None:
    """The most GPUs that nodes can have together; None where that is not limited or known."""
    total = 0
    by_nodes: dict[int, list[Offer]] = {}
    for offer in offers:
        by_nodes.setdefault(id(offer.kind.nodes), []).append(offer)
    for alike in by_nodes.values():
        nodes = alike[0].kind.nodes
        counts = {offer.kind.type.gpu_count if offer.kind.type else 0 for offer in alike}
        if len(counts) != 1 or not (gpus := counts.pop()) or nodes.provisioner == "byHand":
            return None
        if any(offer.config is None and offer.plugins for offer in alike):
            return None  # how they share GPUs cannot be read
        if any(offer.config and offer.config.sharing != "none" for offer in alike):
            return None  # by the plugin of the operating system
        if isinstance(nodes.most, int):
            total += nodes.most * gpus
            continue
        limit = UNKNOWN if nodes.limits is UNKNOWN else nodes.limits.get(GPU)
        most = None if limit in (None, UNKNOWN) else quantity(str(text(limit)))
        if most is None:
            return None
        total += floor(most / gpus) * gpus
    return total or None


def must_surge(workload: Workload, replicas: int) -> bool:
    """Whether none of the old pods may end before a new one is ready."""
    document = workload.source.document
    if not isinstance(document, Document):
        return False
    strategy = at(document.value, "spec", "strategy")
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


def _stuck(workload: Workload, held: int, room: int) -> Problem:
    return Problem(
        NO_SPARE_GPU,
        workload.source,
        (),
        f"{at_start(workload.source.name)} holds {held} of the {room} GPUs that its nodes can "
        "have, and replaces its pods by starting the new one first.",
        "Write strategy: {type: Recreate}, or maxSurge: 0 and maxUnavailable: 1.",
    )
