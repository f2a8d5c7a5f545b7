"""Quotas, limits and classes by which no pod of a workload with GPUs is ever made.

Source: `plugin/pkg/admission/limitranger/admission.go`, `.../priority/admission.go` and
`staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota` of Kubernetes 1.35.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.edges.queues import is_sent_away, meant
from eks_gpushare.inventory.items import Namespaced, Pointer, Quota, Workload
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.workloads.spare_gpus import (
    applied_folders,
    applied_with,
    must_surge,
)
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.pod_demand import demand_of
from eks_gpushare.manifests.pod_fields import is_plain
from eks_gpushare.manifests.rules.admitted import NOT_CREATED
from eks_gpushare.manifests.rules.scaling import NO_SPARE_GPU
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_KEPT_UP: Final = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods are all there at once; those of a Job come by turns."""
_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")
_PRIORITY: Final = "priorityClassName"


Item = TypeVar("Item", bound=Namespaced)


def _value(item: Namespaced) -> Any:
    document = item.source.document
    return document.value if isinstance(document, Document) else UNKNOWN


def _space(item: Namespaced) -> str | None:
    """The namespace of an item, empty where nothing says it; None where it is not known."""
    if item.namespace is not UNKNOWN:
        return item.namespace
    return "" if at(_value(item), "metadata", "namespace") is None else None


def _by_space(items: Iterable[Item]) -> Mapping[str | None, list[Item]]:
    """Items by the namespaces that are known, or of nobody's saying."""
    found: dict[str | None, list[Item]] = {}
    for each in items:
        if (space := _space(each)) is not None:
            found.setdefault(space, []).append(each)
    return found


def _as_sure(
    found: Problem, workload: Workload, other: Namespaced, folders: frozenset[str]
) -> Problem:
    """A problem, as a note where nothing says that both go into one namespace.

    Files beside each other may be applied with different ones, or one of them alone.

    Args:
        found: The problem.
        workload: The workload.
        other: What counts its pods, or limits them.
        folders: Folders that scripts apply whole.
    """
    documents = (workload.source.document, other.source.document)
    places = {applied_with(each, folders) for each in documents if isinstance(each, Document)}
    is_sure = _space(workload) != "" or len(places) == 1
    return found if is_sure else replace(found, severity="info")


@edge(NOT_CREATED, NO_SPARE_GPU)
def within_quotas(inventory: Inventory) -> Iterator[Judgement]:
    """ResourceQuotas that count all pods of a namespace."""
    for cluster in inventory.clusters():
        quotas = [
            each
            for each in inventory.of(Quota, cluster)
            if each.kind == "ResourceQuota"
            and each.hard is not UNKNOWN
            and not at(_value(each), "spec", "scopes")
        ]
        ranges = [each for each in inventory.of(Pointer, cluster) if each.kind == "LimitRange"]
        by_space, with_limits = _by_space(quotas), _by_space(ranges)
        folders = applied_folders(inventory, cluster)
        for workload, _ in gpu_workloads(inventory, cluster) if quotas else ():
            space = _space(workload)
            here = by_space.get(space, ())
            for quota in () if here and is_sent_away(inventory, workload) else here:
                if _counts(quota, workload):
                    unsaid = () if space in with_limits else _unsaid(workload, quota)
                    found = (*_over(workload, quota), *unsaid)
                    yield from (_as_sure(each, workload, quota, folders) for each in found)


def _counts(quota: Quota, workload: Workload) -> bool:
    """Whether a quota is for the pods of a workload, by the classes that it selects."""
    name = at(workload.spec, _PRIORITY)
    for each in items(at(_value(quota), "spec", "scopeSelector", "matchExpressions")):
        of_class = at(each, "scopeName") == "PriorityClass" and isinstance(name, str)
        if not of_class or at(each, "operator") != "In" or name not in items(at(each, "values")):
            return False
    return True


def _over(workload: Workload, quota: Quota) -> Iterator[Problem]:
    demand = demand_of(workload.spec)
    pods = workload.replicas if workload.kind in _KEPT_UP else 1
    pods = pods if isinstance(pods, int) else 1
    for name, amount in demand.amounts.items():
        given = at(quota.hard, name)
        most = quantity(str(text(given)))
        if most is None or not amount:
            continue
        if amount * max(pods, 1) <= most:
            if most < amount * (pods + 1) and GPU in name and _replaced(workload):
                yield Problem(
                    NO_SPARE_GPU,
                    workload.source,
                    (),
                    f"{at_start(workload.source.name)} holds {_shown(amount * pods)} of {name}, of "
                    f"which {quota.source.name} allows {text(given)}, and replaces its pods by "
                    "starting the new one first: the quota refuses it.",
                    "Raise the quota by a pod, or write strategy: {type: Recreate}.",
                )
            continue
        one = amount > most
        asked = f"asks for {_shown(amount)} of {name} in a pod"
        if not one:
            asked = f"has {pods} pods with {_shown(amount)} of {name} each"
        yield Problem(
            NOT_CREATED,
            workload.source,
            (*workload.spec_path, *demand.places[name]),
            f"{at_start(workload.source.name)} {asked}, and {quota.source.name} allows "
            f"{text(given)} in the namespace.",
            "Ask for less, or raise the quota.",
            None if one else "warning",
        )


def _replaced(workload: Workload) -> bool:
    pods = workload.replicas
    return workload.kind == "Deployment" and isinstance(pods, int) and must_surge(workload, pods)


def _unsaid(workload: Workload, quota: Quota) -> Iterator[Problem]:
    """What every container has to say where a quota counts it, and no LimitRange gives it."""
    for name in ("cpu", "memory", "limits.cpu", "limits.memory"):
        if at(quota.hard, name) is None or at(quota.hard, name) is UNKNOWN:
            continue
        bare = name.removeprefix("limits.")
        parts = ("limits",) if name != bare else ("requests", "limits")
        for where, container in containers(workload.spec):
            if all(at(container, "resources", part, bare) is None for part in parts):
                yield Problem(
                    NOT_CREATED,
                    workload.source,
                    (*workload.spec_path, *where),
                    f"{at_start(workload.source.name)} has a container without {parts[0]} of "
                    f"{bare}, which {quota.source.name} counts: the quota refuses its pods.",
                    f"Write {parts[0]} of {bare}, or give them by a LimitRange.",
                    "warning",
                )
                break


def _shown(amount: Fraction) -> str:
    for power, unit in ((30, "Gi"), (20, "Mi")):
        if amount >= 2**power and not amount % 2**power:
            return f"{amount // 2**power}{unit}"
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):g}"


@edge(NOT_CREATED)
def within_limits(inventory: Inventory) -> Iterator[Judgement]:
    """LimitRanges, of containers and of pods."""
    for cluster in inventory.clusters():
        ranges = [each for each in inventory.of(Pointer, cluster) if each.kind == "LimitRange"]
        by_space, folders = _by_space(ranges), applied_folders(inventory, cluster)
        for workload, _ in gpu_workloads(inventory, cluster) if ranges else ():
            here = by_space.get(_space(workload), ())
            for each in () if here and is_sent_away(inventory, workload) else here:
                for limit in items(at(each.spec, "limits")):
                    for found in _above(workload, each, limit):
                        yield _as_sure(found, workload, each, folders)


def _above(workload: Workload, of_range: Pointer, limit: Any) -> Iterator[Problem]:
    of_pod = at(limit, "type") == "Pod"
    if not of_pod and at(limit, "type") != "Container":
        return
    for name, given in pairs(at(limit, "max")):
        most = quantity(str(text(given)))
        asked = [
            (amount, (*path, "resources", "limits", name))
            for path, container in containers(workload.spec)
            if not of_pod or path[0] == "containers"
            if (amount := quantity(str(text(at(container, "resources", "limits", name)))))
        ]
        where = "pod" if of_pod else "container"
        amounts = [amount for amount, _ in asked]
        total = sum(amounts, Fraction()) if of_pod else max(amounts, default=Fraction())
        if most is not None and total > most:
            _, place = max(asked)
            yield Problem(
                NOT_CREATED,
                workload.source,
                (*workload.spec_path, *place),
                f"{at_start(workload.source.name)} has limits of {_shown(total)} of {name} in a "
                f"{where}, and {of_range.source.name} allows {text(given)}.",
                "Ask for less, or raise the maximum of the LimitRange.",
            )


@edge(NOT_CREATED)
def with_their_classes(inventory: Inventory) -> Iterator[Judgement]:
    """PriorityClasses that pods name: a note where one is not here, and others are.

    One that was meant is told. None of the files may make it, and a chart or another team's may.
    """
    for cluster in inventory.clusters():
        every = [each for each in inventory.of(Pointer, cluster) if each.kind == "PriorityClass"]
        known = [str(each.name) for each in every if each.name is not UNKNOWN]
        for workload, _ in gpu_workloads(inventory, cluster):
            name = at(workload.spec, _PRIORITY)
            if not isinstance(name, str) or name in ("", *known, *_BUILT_IN):
                continue
            near = meant(name, known)
            is_whole = bool(known) and len(known) == len(every)
            if (near or is_whole) and is_plain(workload.kind):
                others = ", ".join(dict.fromkeys(known))
                yield Problem(
                    NOT_CREATED,
                    workload.source,
                    (*workload.spec_path, _PRIORITY),
                    f"{at_start(workload.source.name)} names the PriorityClass {name}, which is "
                    "not here.",
                    f"Write {near}, if that was meant."
                    if near
                    else f"Make it, or name one that is: {others}.",
                    "warning" if near else "info",
                )
