"""Queues of Kueue that hold GPU workloads for ever, by what they cover and give.

Source: `pkg/scheduler/flavorassigner/flavorassigner.go` (`findFlavorForPodSets`,
`checkFlavorForPodSets`, `flavorSelector`) and `pkg/controller/jobs/job/job_controller.go` of
https://github.com/kubernetes-sigs/kueue at ff69552.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.edges.amounts import in_all
from eks_gpushare.inventory.edges.queues import queue_of
from eks_gpushare.inventory.items import Namespace, Pointer, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.matching import required_terms, selects
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import Document, value_of
from eks_gpushare.manifests.kueue_counting import Counting, counting
from eks_gpushare.manifests.plain import taints
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.manifests.rules.admission import (
    MORE_THAN_QUEUE,
    NO_FLAVOR_FITS,
    OTHER_NAMESPACES,
    OTHER_RESOURCE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request
    from eks_gpushare.inventory.source import Source

_GPUS: Final = "nvidia.com/"
_OF_NODES: Final = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-")
_COUNTED: Final = ("cpu", "memory", "ephemeral-storage")
_NAME: Final = "kubernetes.io/metadata.name"
_OF_PODS: Final = ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet")
"""Kinds of which Kueue sees the pods, to which EKS has added tolerations by then."""
_LEAST: Final = ("metadata", "annotations", "kueue.x-k8s.io/job-min-parallelism")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Led(NamedTuple):
    """A workload with GPUs, and the ClusterQueue to which its queue leads."""

    workload: Workload
    requests: tuple[Request, ...]
    name: Any
    """Of its LocalQueue."""
    queue: Pointer


@kept
def _led(inventory: Inventory, cluster: str) -> tuple[_Led, ...]:
    return tuple(_leading(inventory, cluster))


def _leading(inventory: Inventory, cluster: str) -> Iterator[_Led]:
    pointers = inventory.of(Pointer, cluster)
    local: dict[Any, list[Pointer]] = {}
    for each in pointers:
        if each.kind == "LocalQueue" and each.name is not UNKNOWN:
            local.setdefault(each.name, []).append(each)
    named = (e for e in pointers if e.kind == "ClusterQueue" and e.name is not UNKNOWN)
    queues = {str(each.name): each for each in named}
    for workload, requests in gpu_workloads(inventory, cluster):
        _, name = queue_of(workload)
        queue = next(
            (
                queues.get(str(at(each.spec, "clusterQueue")))
                for each in local.get(name, ())
                if may_be_same(each.namespace, workload.namespace)
            ),
            None,
        )
        if queue is not None and not has_unknown(at(queue.spec, "resourceGroups")):
            yield _Led(workload, requests, name, queue)


def _groups(queue: Pointer) -> Iterator[tuple[list[str], Any]]:
    """What each group of resources covers, and the group."""
    for group in items(at(queue.spec, "resourceGroups")):
        yield [str(each) for each in items(at(group, "coveredResources"))], group


def _group_of(queue: Pointer, resource: str) -> Any:
    return next((group for covered, group in _groups(queue) if resource in covered), None)


@edge(OTHER_RESOURCE)
def queues(inventory: Inventory) -> Iterator[Judgement]:
    """Kueue's, from a workload by its label over a LocalQueue to a ClusterQueue."""
    for cluster in inventory.clusters():
        way = counting(inventory, cluster)
        for led in _led(inventory, cluster):
            covered = [name for names, _ in _groups(led.queue) for name in names]
            if way is None or way.only_declared or not covered:
                continue
            # Another resource may be what a configuration elsewhere makes of others.
            by_gpus = any(name.startswith(_GPUS) for name in covered)
            if by_gpus or way.is_here or all(name.startswith(_OF_NODES) for name in covered):
                severity = None if by_gpus or way.is_here else "warning"
                for resource, place in _asked(led, way):
                    lacking = [name for name in way.names(resource) if name not in covered]
                    if lacking:
                        yield _uncovered(led, resource, place, lacking[0], covered, severity)
            if by_gpus and not way.is_here and any(name in _COUNTED for name in covered):
                yield from _of_nodes(inventory, led, covered)


def _of_nodes(inventory: Inventory, led: _Led, covered: Sequence[str]) -> Iterator[Problem]:
    """What of nodes is asked for beside GPUs; of a configuration elsewhere it may be left out."""
    name = led.workload.source.name
    for resource, source, place in (*_written(led.workload), *_by_default(inventory, led)):
        if resource not in _COUNTED or resource in covered:
            continue
        how = "" if source is led.workload.source else f" by {source.name}"
        yield Problem(
            OTHER_RESOURCE,
            source,
            place,
            f"{at_start(name)} asks for {resource}{how}, and {led.queue.source.name}, to which its "
            f"queue {led.name} leads, covers {', '.join(covered)}.",
            f"Cover {resource} in the ClusterQueue, or leave it out by excludeResourcePrefixes of "
            "Kueue's configuration.",
            "warning",
        )
        return


def _written(workload: Workload) -> Iterator[tuple[str, Source, FieldPath]]:
    for where, container in containers(workload.spec):
        for part in ("requests", "limits"):
            for name, _ in pairs(at(container, "resources", part)):
                place = (*workload.spec_path, *where, "resources", part, name)
                yield name, workload.source, place


def _by_default(inventory: Inventory, led: _Led) -> Iterator[tuple[str, Source, FieldPath]]:
    """What a LimitRange of the namespace gives to containers."""
    for each in inventory.of(Pointer, led.workload.cluster):
        if each.kind != "LimitRange" or each.namespace != led.workload.namespace:
            continue
        for index, limit in enumerate(items(at(each.spec, "limits"))):
            if at(limit, "type") in (None, "Container"):
                for part in ("defaultRequest", "default"):
                    for name, _ in pairs(at(limit, part)):
                        yield name, each.source, ("spec", "limits", index, part, name)


def _asked(led: _Led, way: Counting) -> Iterator[tuple[str, FieldPath]]:
    """GPUs that are asked for, and all else where it is known that nothing excludes it."""
    for request in led.requests:
        yield request.resource, request.place
    gpus = {request.resource for request in led.requests}
    demand = demand_of(led.workload.spec)
    for name, amount in demand.amounts.items() if way.is_here else ():
        if name not in gpus and amount:
            yield name, (*led.workload.spec_path, *demand.places[name])


def _uncovered(
    led: _Led,
    resource: str,
    place: FieldPath,
    lacking: str,
    covered: Sequence[str],
    severity: Any,
) -> Problem:
    counted = "" if lacking == resource else f", of which Kueue counts {lacking}"
    return Problem(
        OTHER_RESOURCE,
        led.workload.source,
        place,
        f"{at_start(led.workload.source.name)} asks for {resource}{counted}, and "
        f"{led.queue.source.name}, to which its queue {led.name} leads, covers "
        f"{', '.join(covered)}.",
        f"Cover {lacking} in the ClusterQueue, or ask by a name that it has.",
        severity,
    )


@edge(OTHER_RESOURCE)
def covered(inventory: Inventory) -> Iterator[Judgement]:
    """What a ClusterQueue of GPUs covers, of which each of its flavors has to have a quota."""
    for queue in inventory.of(Pointer):
        if queue.kind != "ClusterQueue" or has_unknown(at(queue.spec, "resourceGroups")):
            continue
        for number, (names, group) in enumerate(_groups(queue)):
            of_gpus = any(name.startswith(_GPUS) for name in names)
            for index, flavor in enumerate(items(at(group, "flavors")) if of_gpus else ()):
                given = [str(at(each, "name")) for each in items(at(flavor, "resources"))]
                for name in names if given else ():
                    if name not in given:
                        yield Problem(
                            OTHER_RESOURCE,
                            queue.source,
                            ("spec", "resourceGroups", number, "flavors", index, "resources"),
                            f"{at_start(queue.source.name)} covers {name}, of which its flavor "
                            f"{text(at(flavor, 'name'))} has no quota: Kueue refuses it.",
                            f"Write a quota of {name} among the resources of that flavor.",
                        )


@edge(OTHER_NAMESPACES)
def namespaces(inventory: Inventory) -> Iterator[Judgement]:
    """Those of workloads, by the names and labels that they are known to have."""
    for cluster in inventory.clusters():
        labels = {
            str(each.name): each.labels
            for each in inventory.of(Namespace, cluster)
            if isinstance(each.labels, dict)
        }
        for led in _led(inventory, cluster):
            selector, space = at(led.queue.spec, "namespaceSelector"), led.workload.namespace
            if selector is None:
                why = "without a namespaceSelector takes workloads of no namespace"
            elif space is not UNKNOWN and _leaves_out(selector, space, labels.get(space)):
                why = f"does not select the namespace {space}"
            else:
                continue
            yield Problem(
                OTHER_NAMESPACES,
                led.queue.source,
                ("spec", *(("namespaceSelector",) if selector else ())),
                f"{at_start(led.workload.source.name)} is in the queue {led.name}, which leads to "
                f"{led.queue.source.name}, and that {why}.",
                "Write `namespaceSelector: {}` for all, or select a label of the namespace.",
            )


def _leaves_out(selector: Any, space: str, labels: Any) -> bool:
    keys = {key for key, _ in pairs(at(selector, "matchLabels"))}
    keys |= {str(at(each, "key")) for each in items(at(selector, "matchExpressions"))}
    known = labels is not None or keys == {_NAME}
    return known and selects(selector, {**(labels or {}), _NAME: space}) is False


@edge(NO_FLAVOR_FITS)
def flavors(inventory: Inventory) -> Iterator[Judgement]:
    """All that a queue gives the GPUs of, by their own taints and labels."""
    for cluster in inventory.clusters():
        known = {
            str(each.name): each
            for each in inventory.of(Pointer, cluster)
            if each.kind == "ResourceFlavor"
        }
        for led in _led(inventory, cluster):
            for resource in dict.fromkeys(request.resource for request in led.requests):
                listed = items(at(_group_of(led.queue, resource), "flavors"))
                there = [known.get(str(at(each, "name"))) for each in listed]
                whys = [None if each is None else _why_not(led.workload, each) for each in there]
                if whys and None not in whys:
                    yield Problem(
                        NO_FLAVOR_FITS,
                        led.workload.source,
                        (*led.workload.spec_path,),
                        f"{at_start(led.workload.source.name)} {whys[0]}; {led.queue.source.name} "
                        f"has {'no other flavor' if len(whys) == 1 else 'none that fits'} of "
                        f"{resource}.",
                        "Let the pods tolerate the taint or select the label, write tolerations "
                        "into the flavor, or add one that fits.",
                    )


def _why_not(workload: Workload, flavor: Pointer) -> str | None:
    """Why a flavor is not for the pods of a workload; None where it is, or that is not known."""
    spec = with_extended_tolerations(workload.spec) if workload.kind in _OF_PODS else workload.spec
    given = [at(flavor.spec, key) for key in ("nodeTaints", "nodeLabels", "tolerations")]
    if spec is UNKNOWN or has_unknown(given) or at(spec, "tolerations") is UNKNOWN:
        return None
    labels = {key: str(text(value)) for key, value in pairs(given[1])}
    pod = _as_compared(spec, labels)
    pod["tolerations"] = [*items(at(spec, "tolerations")), *items(given[2])]
    found = landing(pod, taints(given[0]), labels.get)
    name = flavor.source.name
    if found.taints:
        return f"does not tolerate the taint {found.taints[0]} of {name}"
    if found.labels:
        have = ", ".join(f"{key}={value}" for key, value in labels.items())
        return f"wants {found.labels[0]}, and {name} has {have}"
    return None


def _as_compared(spec: Any, labels: Mapping[str, str]) -> dict[str, Any]:
    """What a pod wants of labels that a flavor has; of others Kueue leaves it to the scheduler."""
    selector = {key: value for key, value in pairs(at(spec, "nodeSelector")) if key in labels}
    terms = []
    for term in items(required_terms(spec)):
        kept = [
            each
            for each in items(at(term, "matchExpressions"))
            if at(each, "key") in labels or at(each, "key") is UNKNOWN
        ]
        if not kept:
            return {"nodeSelector": selector}
        terms.append({"matchExpressions": kept})
    if not terms:
        return {"nodeSelector": selector}
    affinity = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
    return {"nodeSelector": selector, "affinity": affinity}


@edge(MORE_THAN_QUEUE)
def quotas_of_flavors(inventory: Inventory) -> Iterator[Judgement]:
    """Kueue's: the pods of a Job all start at once, on GPUs of one flavor."""
    for cluster in inventory.clusters():
        way = counting(inventory, cluster)
        if way is None:
            continue
        for led in _led(inventory, cluster):
            for resource in dict.fromkeys(request.resource for request in led.requests):
                most = _most(led.queue, resource)
                each = in_all(led.workload, resource, led.requests)
                if most is None or each is None or way.names(resource) != (resource,):
                    continue
                wanted = each * _at_once(led.workload)
                if wanted > most:
                    place = next(one.place for one in led.requests if one.resource == resource)
                    yield Problem(
                        MORE_THAN_QUEUE,
                        led.workload.source,
                        place,
                        f"{at_start(led.workload.source.name)} needs {wanted} of {resource} at "
                        f"once, and {led.queue.source.name}, to which its queue {led.name} leads, "
                        f"has {float(most):g} of one flavor at most.",
                        "Ask for less at once, or raise nominalQuota or borrowingLimit.",
                        None if most or not _is_of_a_program(led.queue) else "info",
                    )


def _is_of_a_program(queue: Pointer) -> bool:
    """Whether expressions say what it has: where that is nothing, it waits to be switched on."""
    document = queue.source.document
    return isinstance(document, Document) and document.origin is not None


def _most(queue: Pointer, resource: str) -> Fraction | None:
    """Most that a queue gives of one flavor; None where it borrows without limit."""
    borrows = bool(at(queue.spec, "cohort") or at(queue.spec, "cohortName"))
    found: list[Fraction] = []
    for flavor in items(at(_group_of(queue, resource), "flavors")):
        for quota in items(at(flavor, "resources")):
            if at(quota, "name") != resource:
                continue
            keys = ("nominalQuota", *(("borrowingLimit",) if borrows else ()))
            amounts = [quantity(str(text(at(quota, key)))) for key in keys]
            known = [amount for amount in amounts if amount is not None]
            if len(known) < len(amounts):
                return None
            found.append(sum(known[1:], known[0]))
    return max(found, default=None)


def _at_once(workload: Workload) -> int:
    """Pods that have to start together at least; 1 where nothing says."""
    if workload.replicas == 0:
        return 0
    value = value_of(workload)
    if workload.kind != "Job" or workload.replicas is None or at(value, *_LEAST) is not None:
        return 1
    counts = [workload.replicas, at(value, "spec", "completions")]
    known = [count for count in counts if isinstance(count, int)]
    return min(known) if isinstance(workload.replicas, int) and UNKNOWN not in counts else 1
