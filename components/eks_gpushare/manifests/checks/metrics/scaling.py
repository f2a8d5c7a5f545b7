"""Autoscalers of workloads with GPUs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.by_value import ByValue, together
from eks_gpushare.inventory.items import INFERENCE_SERVICE, RULES, SCALERS, Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.adapter import queries
from eks_gpushare.manifests.checks.metrics.of_mig import QUOTED, are_on_mig, not_of_mig
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.scaling import (
    METRIC_NAME,
    NOBODY_WAKES,
    NOT_MEASURED,
    NOT_OF_MIG,
    TWO_SCALERS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

_TAKES_OVER: Final = "scaledobject.keda.sh/transfer-hpa-ownership"
_OF_PODS: Final = re.compile(
    r"(?:vllm[:_](?!num_incoming_requests)|sglang[:_]|tgi_|nv_|DCGM_FI_|container_)[A-Za-z0-9_]*"
)
"""Metrics of the servers themselves, of their containers, and of the GPUs that they hold.

The router of vLLM's production stack exports `vllm:num_incoming_requests_total`
(docs/source/use_cases/autoscaling-keda.rst of vllm-project/production-stack).
"""
_NO_METRIC: Final = re.compile(
    r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)"
    r"|[A-Za-z_][A-Za-z0-9_]*\s*(?:(?:by|without)\s*\([^)]*\)\s*)?\("
    r"|\b(?:and|or|unless|bool|offset|group_left|group_right)\b"
    r"|(?<![A-Za-z0-9_:])[0-9.]+[A-Za-z0-9_]*"
)
"""Of a query what is in brackets, labels, words of the language, functions and numbers."""
_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_UNDERSCORE: Final = re.compile(
    r"(?<![A-Za-z0-9_:])vllm_((?:num_requests_(?:running|waiting|swapped)"
    r"|(?:gpu|cpu|kv)_cache_usage_perc"
    r"|(?:prompt|generation)_tokens_total|time_to_first_token_seconds[A-Za-z0-9_]*"
    r"|e2e_request_latency_seconds[A-Za-z0-9_]*|request_[A-Za-z0-9_]+))(?![A-Za-z0-9_:])"
)
_RENAMES: Final = re.compile(r"'(?:targetLabel|target_label)': (?:'__name__'|<Unknown)")
"""Of a monitor; what stands between underscores looks as if it were to be filled in."""
_NAMING: Final = ("ServiceMonitor", "PodMonitor", "PrometheusRule", RULES)
_RESOURCES: Final = ("cpu", "memory")


@edge(TWO_SCALERS, NOBODY_WAKES, NOT_OF_MIG, METRIC_NAME, NOT_MEASURED)
def scalers(inventory: Inventory) -> Iterator[Judgement]:
    """Those of workloads that ask for GPUs."""
    for cluster in inventory.clusters():
        adapted = queries(inventory, cluster)
        asking = ByValue(
            gpu_workloads(inventory, cluster),
            lambda pair: [together(pair[0].namespace, pair[0].name)],
        )
        said: dict[int, Pointer] = {}
        for pointer in inventory.of(Pointer, cluster):
            if pointer.kind not in SCALERS:
                continue
            yield from _names(pointer, inventory)
            name = at(pointer.spec, "scaleTargetRef", "name")
            for workload, requests in asking.may_have(together(pointer.namespace, name)):
                if not scales(pointer, workload):
                    continue
                first = said.setdefault(id(workload), pointer)
                if not _may_be_one(first, pointer) and not _takes_over((first, pointer)):
                    yield _twice(workload, first, pointer)
                if are_on_mig(inventory, workload, requests):
                    against = workload.source, requests[0].place
                    for problem in not_of_mig(pointer, adapted):
                        yield replace(problem, against=against)
                yield from _metrics(pointer)
                yield from _of_resources(pointer)


def scales(pointer: Pointer, workload: Workload) -> bool:
    """Whether an autoscaler is for a workload."""
    target = at(pointer.spec, "scaleTargetRef")
    named = at(target, "kind"), at(target, "name"), workload.name
    return UNKNOWN not in named and may_scale(pointer, workload)


def may_scale(pointer: Pointer, workload: Workload) -> bool:
    """Whether it is, as far as is known."""
    target, (kind, name) = at(pointer.spec, "scaleTargetRef"), _scaled(workload)
    return (
        may_be_same(text(at(target, "kind")) or "Deployment", kind)
        and may_be_same(at(target, "name"), name)
        and may_be_same(pointer.namespace, workload.namespace)
    )


def _scaled(workload: Workload) -> tuple[str, Maybe[str]]:
    """What an autoscaler of a workload names, by kind and name.

    KServe makes a Deployment for a model's server: `PredictorServiceName` of pkg/constants.
    """
    name = workload.name
    if workload.kind == INFERENCE_SERVICE and isinstance(name, str):
        return "Deployment", f"{name}-predictor"
    return workload.kind, name


def scalers_of(inventory: Inventory, cluster: str) -> Callable[[Workload], list[Pointer]]:
    """What finds the autoscalers that may be for a workload."""
    every = ByValue(
        (each for each in inventory.of(Pointer, cluster) if each.kind in SCALERS),
        lambda each: [together(each.namespace, at(each.spec, "scaleTargetRef", "name"))],
    )

    def found(workload: Workload) -> list[Pointer]:
        named = every.may_have(together(workload.namespace, _scaled(workload)[1]))
        return [each for each in named if may_scale(each, workload)]

    return found


def most_pods(workload: Workload, scalers: Iterable[Pointer]) -> int | None:
    """The most pods that there are at a time; None where that is not known.

    Args:
        workload: The workload.
        scalers: Autoscalers that may be for it.
    """
    if not isinstance(workload.replicas, int):
        return None
    most = workload.replicas
    for each in scalers:
        target = at(each.spec, "scaleTargetRef")
        named = text(at(target, "kind")) or "Deployment", at(target, "name")
        for key in ("maxReplicas", "maxReplicaCount") if named == _scaled(workload) else ():
            limit = at(each.spec, key)
            if isinstance(limit, int):
                most = max(most, limit)
    return most


def _may_be_one(first: Pointer, other: Pointer) -> bool:
    """Whether two autoscalers of a workload are one, or two versions of one."""
    return first.kind == other.kind and may_be_same(first.name, other.name)


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
        f"{at_start(one)} and {two} both scale {workload.source.name}.",
        "Keep one of them: a ScaledObject may have several triggers, and a HorizontalPodAutoscaler "
        "several metrics.",
    )


def _metrics(pointer: Pointer) -> Iterator[Problem]:
    triggers = items(at(pointer.spec, "triggers"))
    if has_unknown(triggers):
        return
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


def prometheus_queries(pointer: Pointer) -> Iterator[tuple[int, FieldPath, str]]:
    """What KEDA's triggers ask Prometheus for, with the number and the place of each."""
    for index, trigger in enumerate(items(at(pointer.spec, "triggers"))):
        query = at(trigger, "metadata", "query")
        if isinstance(query, str) and at(trigger, "type") == "prometheus":
            yield index, ("spec", "triggers", index, "metadata", "query"), query


def _names(pointer: Pointer, inventory: Inventory) -> Iterator[Problem]:
    """Metrics that a server would have by another name, whatever is scaled by them."""
    for index, place, query in prometheus_queries(pointer):
        named = _UNDERSCORE.search(QUOTED.sub("", query))
        if named and not _is_made(named[0], inventory):
            yield Problem(
                METRIC_NAME,
                pointer.source,
                place,
                f"The query of trigger {index} of {pointer.source.name} is for {named[0]}, and "
                f"vLLM's metric is vllm:{named[1]}.",
                f"Write vllm:{named[1]}.",
            )


def _is_made(name: str, inventory: Inventory) -> bool:
    """Whether a rule records a metric by that name, or a monitor may give it to one."""
    said = [str(each.spec) for each in inventory.of(Pointer) if each.kind in _NAMING]
    return any(f"'record': '{name}'" in each or _RENAMES.search(each) for each in said)


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
    bare = QUOTED.sub("", query)
    named = _NAME.findall(_NO_METRIC.sub(" ", bare))
    return bool(named) and "vector(" not in bare and all(map(_OF_PODS.fullmatch, named))
