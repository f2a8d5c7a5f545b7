"""Pods that ask for a GPU, or a share of one, can be where it is advertised."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import is_example, is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import Offer, offers
from eks_gpushare.inventory.edges.claims import CLAIM_KEYS, OF_GPUS
from eks_gpushare.inventory.edges.queues import is_sent_away, tolerations_of_flavors
from eks_gpushare.inventory.items import PART_OF_POD, DeviceClaim, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.nodes import may_be_others, unseen_nodes
from eks_gpushare.inventory.problem import Edit, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import Request, asks_for_none, gpu_workloads, requests_of
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.landings import Candidates, Grounds, Places
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.problem import Judgement


NOT_ADVERTISED = rule_of("GPU1110")
PODS_KEPT_OUT = rule_of("GPU1111")
ELSEWHERE = rule_of("GPU1112")

_VIRTUAL = (
    *("liqo.io/", "virtual-kubelet", "virtual-node"),
    *("cloud.google.com/", "kubernetes.azure.com/", "oci.oraclecloud.com/"),
)
"""Signs of labels of nodes that stand for another cluster's, or that are of another cloud."""
_MOST_TYPES = 5
"""Instance types that a message lists."""


@edge(NOT_ADVERTISED, PODS_KEPT_OUT, ELSEWHERE)
def pods_land(inventory: Inventory) -> Iterator[Judgement]:
    """By resource, taints and labels."""
    for cluster in inventory.clusters():
        every = offers(inventory, cluster).every
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster, parts=True):
            if (every or inventory.complete) and not is_sent_away(inventory, workload):
                yield from _judged(inventory, workload, requests, ground)


@edge(ELSEWHERE, PODS_KEPT_OUT)
def others_select(inventory: Inventory) -> Iterator[Judgement]:
    """By labels alone: pods that claim a GPU, and values of charts, which may say no more of pods.

    Whatever else a pod says leaves it no node that its selector rules out. Tolerations that values
    have beside a GPU are all that the chart gives to its pods.
    """
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        if not ground.every:
            continue
        claimed = _claims_of_gpus(inventory, cluster)
        for workload in inventory.of(Workload, cluster):
            is_part = workload.kind == PART_OF_POD
            tolerates = is_part and items(at(workload.spec, "tolerations"))
            if workload.spec is UNKNOWN or not (tolerates or _selects(workload.spec)):
                continue
            if is_part:
                requests = tuple(requests_of(workload))
                of_gpus = bool(requests) and not any(map(asks_for_none, requests))
            else:
                requests, of_gpus = (), _claims_one(workload, claimed)
            found = ground.places(workload, requests) if of_gpus else None
            if found is None or not found.having.offers or found.lands is not False:
                continue
            if tolerates and found.kept_out is not None and not is_guide(workload.source.file):
                kept_out = _kept_out(workload, found.kept_out, requests)
                yield replace(kept_out, severity="warning", edits=())
            if not _selects(workload.spec):
                continue
            labels = found.nearest.landing.labels
            if labels and not any(sign in label for label in labels for sign in _VIRTUAL):
                unseen = unseen_nodes(inventory, cluster)
                yield _unless_on(unseen, workload, _elsewhere(inventory, workload, found, ""))


def _selects(spec: Any) -> bool:
    return bool(pairs(at(spec, "nodeSelector"))) or at(spec, "affinity") is not None


def _claims_of_gpus(inventory: Inventory, cluster: str) -> list[DeviceClaim]:
    """Claims and templates of them that ask for nothing but GPUs of NVIDIA's driver."""
    return [
        each
        for each in inventory.of(DeviceClaim, cluster)
        if each.kind in CLAIM_KEYS and _classes(each) and _classes(each) <= set(OF_GPUS)
    ]


def _classes(claim: DeviceClaim) -> set[Any]:
    requests = items(at(claim.spec, "devices", "requests"))
    requests = requests or items(at(claim.spec, "spec", "devices", "requests"))
    exact = [at(request, "exactly") or request for request in requests]
    return {text(at(each, "deviceClassName")) for each in exact}


def _claims_one(workload: Workload, claimed: Sequence[DeviceClaim]) -> bool:
    """Whether its pods get a GPU by a claim that is here, and by nothing else."""
    named = {
        (kind, text(at(each, key)))
        for each in items(at(workload.spec, "resourceClaims"))
        for kind, key in CLAIM_KEYS.items()
    }
    return not any(requests_of(workload)) and any(
        (each.kind, each.name) in named and may_be_same(each.namespace, workload.namespace)
        for each in claimed
    )


def _judged(
    inventory: Inventory, workload: Workload, requests: Sequence[Request], ground: Grounds
) -> Iterator[Judgement]:
    missing = [request for request in requests if not ground.having([request]).offers]
    lacking = _lacking(workload, missing, ground.every)
    others = _waited_for(workload, ground) if missing else ""
    let_be = f", or let it be, if it is for other nodes, with {others}."
    for each in lacking:
        fix = f"{each.fix.removesuffix('.')}{let_be}"
        yield replace(each, severity="info", fix=fix) if others else each
    if missing or workload.kind == PART_OF_POD:
        return
    found, unseen = ground.places(workload, requests), unseen_nodes(inventory, workload.cluster)
    if not found.having.offers:
        names = " and ".join(dict.fromkeys(request.resource for request in requests))
        yield Problem(
            NOT_ADVERTISED,
            workload.source,
            requests[0].place,
            f"{at_start(workload.source.name)} asks for {names}, and no node has both.",
            "Ask for resources of one pool.",
        )
        return
    if at(workload.spec, "nodeName") or at(workload.spec, "schedulerName") is UNKNOWN:
        return
    if found.lands:
        return
    if found.lands is None:
        yield from _unseen(workload, found)
    elif found.kept_out is not None:
        if not _let_in_by_kueue(inventory, workload, requests, ground):
            kept_out = _kept_out(workload, found.kept_out, requests)
            launched = [each for each in unseen if each.nodes.leaves_gpus]
            yield _unless_on(launched, workload, kept_out)
    elif not any(sign in label for label in found.nearest.landing.labels for sign in _VIRTUAL):
        led = _led_to(ground.places(workload), requests)
        yield _unless_on(unseen, workload, _elsewhere(inventory, workload, found, led))


def _unless_on(unseen: Sequence[NodeKind], workload: Workload, problem: Problem) -> Problem:
    """A problem, or a note of it where its pods may be on nodes that may have GPUs."""
    spec = with_extended_tolerations(workload.spec)
    for each in unseen:
        if landing(spec, each.nodes.taints, each.label).lands is not False:
            told = "launches types with GPUs too" if each.nodes.leaves_gpus else "may have GPUs"
            message = f"{problem.message} {at_start(each.nodes.source.name)} {told}."
            return replace(problem, message=message, severity="info", edits=())
    return problem


def _waited_for(workload: Workload, ground: Grounds) -> str:
    """The labels that an example selects nodes by, if none of a cluster's has them; else empty.

    Other nodes may advertise what these do not.
    """
    if not ground.every or not is_example(workload.source.file) or not _selects(workload.spec):
        return ""
    found = ground.places(workload)
    lacks = found.lands is False and found.kept_out is None
    return " and ".join(found.nearest.landing.labels) if lacks else ""


def _let_in_by_kueue(
    inventory: Inventory, workload: Workload, requests: Sequence[Request], ground: Grounds
) -> bool:
    """Whether pods of a queue may have tolerations of a flavor, which Kueue adds to them.

    Source: https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/, November 2026.
    """
    if workload.spec is UNKNOWN:
        return False
    given = tolerations_of_flavors(inventory, workload)
    if given is UNKNOWN:
        return True
    added, own = list(given), items(at(workload.spec, "tolerations"))
    spec = {**workload.spec, "tolerations": [*own, *added]}
    return bool(added) and ground.places(replace(workload, spec=spec), requests).lands is not False


def _lacking(
    workload: Workload, missing: Sequence[Request], every: Sequence[Offer]
) -> Iterator[Problem]:
    """Each resource that is missing, but what a layout that cannot be made would have made."""
    for lack in {each.resource: each for each in missing}.values():
        is_device = lack.resource.startswith(MIG_PREFIX)
        if not (is_device and any(offer.mig.problems for offer in every)):
            yield _not_advertised(workload, lack, every)


def _not_advertised(workload: Workload, request: Request, every: Sequence[Offer]) -> Problem:
    names = tuple(
        dict.fromkeys(name for offer in every for name in offer.resources or () if offer.has(name))
    )
    name = at_start(workload.source.name)
    if not every:
        message = (
            f"{at_start(workload.source.name)} asks for {request.resource}, and no node has a GPU."
        )
        fix = "Add nodes with GPUs, or ask for none."
        return Problem(NOT_ADVERTISED, workload.source, request.place, message, fix)
    if any(offer.resources is None for offer in every):
        return _never_cut(workload, request, every)
    listed = ", ".join(names) or "no GPU at all"
    message = (
        f"{name} asks for {request.resource}, which no node advertises: the nodes with GPUs have "
        f"{listed}."
    )
    meant = _meant(request.resource, names)
    if meant is None:
        fix = "Ask for one of those, or change what the nodes advertise."
        return Problem(NOT_ADVERTISED, workload.source, request.place, message, fix)
    fix = f"Ask for {meant}{_why(request.resource, meant)}."
    return Problem(NOT_ADVERTISED, workload.source, request.place, message, fix)


def _never_cut(workload: Workload, request: Request, every: Sequence[Offer]) -> Problem:
    """Of nodes whose GPUs cannot be cut so, whatever plugin they get."""
    types = [offer.kind.type.name for offer in every if offer.kind.type is not None]
    types = list(dict.fromkeys(types))
    shown = ", ".join(types[:_MOST_TYPES]) + (", ..." if len(types) > _MOST_TYPES else "")
    pools = " and ".join(dict.fromkeys(offer.kind.nodes.source.name for offer in every))
    return Problem(
        NOT_ADVERTISED,
        workload.source,
        request.place,
        f"{at_start(workload.source.name)} asks for {request.resource}, and no GPU of {pools} "
        f"({shown}) can be cut into such a device.",
        "Choose instance types whose GPUs can, as `eks-gpushare mig layouts TYPE` lists them, or "
        "ask for what these have.",
    )


def _meant(asked: str, names: Sequence[str]) -> str | None:
    """The resource that goes by another name here, if only one can be meant."""
    if len(names) == 1:
        return names[0]
    base = asked.removesuffix(SHARED_SUFFIX)
    near = [name for name in names if name.removesuffix(SHARED_SUFFIX) == base]
    return near[0] if len(near) == 1 else None


def _why(asked: str, meant: str) -> str:
    if meant == asked + SHARED_SUFFIX:
        return ", as shares are called with renameByDefault"
    if meant == asked.removesuffix(SHARED_SUFFIX):
        return ", as shares are called without renameByDefault"
    if meant == GPU and asked.startswith(MIG_PREFIX):
        return ", as MIG devices are called by the single strategy"
    if meant.startswith(MIG_PREFIX) and asked == GPU:
        return ", as MIG devices are called by the mixed strategy"
    return ""


def _unseen(workload: Workload, found: Places) -> Iterator[NotSeen]:
    """What would have to be known, but labels that only AWS or the node itself can tell."""
    for name in ("tolerations", "nodeSelector", "affinity"):
        if workload.spec is UNKNOWN or has_unknown(at(workload.spec, name)):
            what = f"the {name} of {workload.source.name}"
            yield NotSeen(PODS_KEPT_OUT, workload.source, what)
            return
    if found.having.partly_known is not None:
        nodes, name = found.having.partly_known
        yield NotSeen(PODS_KEPT_OUT, workload.source, f"the {name} of {nodes.source.name}")


def _kept_out(workload: Workload, place: Candidates, requests: Sequence[Request]) -> Problem:
    nodes, taints = place.offer.kind.nodes, place.landing.taints
    wanted = [_toleration(taint.key, taint.effect) for taint in dict.fromkeys(taints)]
    shown = ", ".join(
        "{" + ", ".join(f"{key}: {value}" for key, value in toleration.items()) + "}"
        for toleration in wanted
    )
    where = (*workload.spec_path, "tolerations")
    written = items(at(workload.spec, "tolerations"))
    edits = (
        tuple(Edit("append", where, toleration) for toleration in wanted)
        if written
        else (Edit("set", where, wanted),)
    )
    by, fix = workload.changed_by, f"Add {shown} to its tolerations"
    return Problem(
        PODS_KEPT_OUT,
        workload.source,
        where,
        f"{at_start(workload.source.name)} asks for {requests[0].resource} and does not tolerate "
        f"the taint {taints[0]} of {nodes.source.name}, which has it."
        f"{_by_itself(requests, taints[0].key)}"
        f"{f' What {by} adds to its pods is no toleration of it.' if by else ''}",
        f"{fix}, or have {by} do so." if by else f"{fix}.",
        edits=() if by else edits,
    )


def _toleration(key: str, effect: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": effect}


def _by_itself(requests: Sequence[Request], key: str) -> str:
    if key != GPU or any(request.resource == GPU for request in requests):
        return ""
    return (
        f" EKS adds a toleration of {requests[0].resource} by itself, which is not the key of that "
        "taint."
    )


def _led_to(such: Places, requests: Sequence[Request]) -> str:
    """The nodes that the labels of pods are of, where these lack what the pods ask for."""
    for place in such.possible:
        for request in requests if place.landing.lands else ():
            if place.offer.has(request.resource) is False:
                nodes = place.offer.kind.nodes
                return f" {at_start(nodes.source.name)} is, and has no {request.resource}."
    return ""


def _elsewhere(inventory: Inventory, workload: Workload, found: Places, led: str) -> Problem:
    nearest = found.nearest
    nodes = nearest.offer.kind.nodes
    wants = " and ".join(nearest.landing.labels)
    selector = at(workload.spec, "nodeSelector")
    key = "nodeSelector" if selector else "affinity"
    others = found.having.declarations - 1
    few = {0: "", 1: ", nor is the other pool"}
    more = few.get(others, f", nor are {others} other pools")
    return Problem(
        ELSEWHERE,
        workload.source,
        (*workload.spec_path, key),
        f"{at_start(workload.source.name)} wants {wants}, and {nodes.source.name} is not such"
        f"{more}.{led}",
        "Select on labels that the nodes have, or give the nodes the labels.",
        "info" if may_be_others(inventory) else None if inventory.complete else "warning",
    )
