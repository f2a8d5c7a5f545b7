"""Not all pods of a GPU workload go at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from eks_gpushare.inventory.by_value import ByValue
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, every, has_unknown, pairs, some, text
from eks_gpushare.inventory.wording import at_start
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.containers import gpu_amounts, pods_of
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import count
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUPS = Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_MAKERS = (
    *(Kind("apps", kind) for kind in ("Deployment", "StatefulSet", "ReplicaSet")),
    *(Kind("", "ReplicationController"), Kind("argoproj.io", "Rollout"), _GROUPS),
    *(Kind("apps.kruise.io", kind) for kind in ("CloneSet", "StatefulSet")),
)
"""What keeps several pods running: Kubernetes' own, and others that stand in their place."""
_BUDGET = Kind("policy", "PodDisruptionBudget")
_SCALERS = {
    Kind("autoscaling", "HorizontalPodAutoscaler"): "minReplicas",
    Kind("keda.sh", "ScaledObject"): "minReplicaCount",
}
"""What scales workloads, and where it says how far down."""
_SEVERAL = 2

_MAKE_ONE = "Make a PodDisruptionBudget whose selector is for its pods, with `maxUnavailable: 1`."
_KEPT = Fix(
    "Leave `workloads.<workload>.disruptionBudget` out of the stack file.", _MAKE_ONE, _MAKE_ONE
)


def _workloads(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    found = list(objects_in(args.resources, (*_MAKERS, *_SCALERS, _BUDGET)))
    least = {_scaled(obj): _least(obj) for obj in found if obj.object.kind in _SCALERS}
    budgets = ByValue((obj for obj in found if obj.object.kind == _BUDGET), _selected)
    for obj in found:
        if obj.object.patch or obj.object.kind not in _MAKERS:
            continue
        name = obj.object.name
        shown = "that is yet to be named" if name is UNKNOWN else name
        called = f"the {obj.object.kind.kind} {shown}"
        named = (*obj.place, obj.object.kind.kind, obj.object.name)
        several = every((some((_has_several(obj), least.get(named, False))), _has_gpus(obj)))
        kept = some(_is_for(budget, obj) for budget in budgets.may_have(*_labels(obj)))
        if several is False or kept:
            continue
        if several is None:
            yield Unjudged(f"whether {called} has several pods with GPUs")
        elif kept is None:
            yield Unjudged(f"the disruption budgets of {called}")
        else:
            message = (
                f"{at_start(called)} has several pods with GPUs and no PodDisruptionBudget. It "
                f"must have one, or an update of the nodes ends all of them at once, and loading "
                f"models takes minutes. {_KEPT.of(obj.urn)}"
            )
            yield message, obj.urn


def _scaled(scaler: PlacedObject) -> tuple[Any, ...]:
    target = at(scaler.object.body, "spec", "scaleTargetRef")
    return (*scaler.place, at(target, "kind") or "Deployment", at(target, "name"))


def _least(scaler: PlacedObject) -> bool:
    """Whether a scaler always leaves several pods, as far as is known."""
    least = count(at(scaler.object.body, "spec", _SCALERS[scaler.object.kind]))
    return isinstance(least, int) and least >= _SEVERAL


def _has_several(each: PlacedObject) -> bool | None:
    numbers = [count(at(each.object.body, "spec", "replicas"))]
    if each.object.kind == _GROUPS:  # one pod of each group leads
        numbers.append(count(at(each.object.body, "spec", "leaderWorkerTemplate", "size")))
    return some(None if n is UNKNOWN else n is not None and n >= _SEVERAL for n in numbers)


def _has_gpus(each: PlacedObject) -> bool | None:
    pods = list(pods_of(each.object))
    amounts = [gpu_amounts(one) for pod in pods for one in pod.containers]
    hidden = [None for pod in pods for _ in pod.unknown]
    return some([*(None if one is UNKNOWN else bool(one) for one in amounts), *hidden])


def _selected(budget: PlacedObject) -> list[Any]:
    """Namespace and a label that it selects by; `UNKNOWN` where it may be for any pods."""
    labels = at(budget.object.body, "spec", "selector", "matchLabels")
    first = next(iter(pairs(labels)), None)
    if first is None or UNKNOWN in (first[1], budget.namespace):
        return [UNKNOWN]
    return [(str(budget.namespace), first[0], text(first[1]))]


def _labels(workload: PlacedObject) -> list[Any]:
    """Namespace and labels of its pods as text, `UNKNOWN` where one of them may be any."""
    labels = _pod_labels(workload)
    if has_unknown([workload.namespace, labels]):
        return [UNKNOWN]
    return [(str(workload.namespace), key, text(value)) for key, value in pairs(labels)]


def _pod_labels(workload: PlacedObject) -> Any:
    """Those of a workload's pods; a LeaderWorkerSet gives its own name to all of them.

    https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/
    """
    body = workload.object.body
    if workload.object.kind != _GROUPS:
        return at(body, "spec", "template", "metadata", "labels")
    labels = at(body, "spec", "leaderWorkerTemplate", "workerTemplate", "metadata", "labels")
    own = {"leaderworkerset.sigs.k8s.io/name": workload.object.name}
    return UNKNOWN if labels is UNKNOWN else {**dict(pairs(labels)), **own}


def _is_for(budget: PlacedObject, workload: PlacedObject) -> bool | None:
    """Whether a budget selects the pods of a workload."""
    spaces = budget.namespace, workload.namespace
    return every(
        (
            budget.cluster == workload.cluster,
            None if UNKNOWN in spaces else budget.namespace == workload.namespace,
            selects(at(budget.object.body, "spec", "selector"), _pod_labels(workload)),
        )
    )


GPU_WORKLOADS_KEEP_PODS = StackPolicy(
    "gpu-workloads-keep-pods",
    "Workloads with several pods on GPUs must have a PodDisruptionBudget.",
    check=_workloads,
    applies_to=(
        "kubernetes:apps/v1:Deployment",
        "kubernetes:apps/v1:StatefulSet",
        "kubernetes:policy/v1:PodDisruptionBudget",
    ),
    level=EnforcementLevel.ADVISORY,
    unseen="jobs, whose pods end by themselves, and what operators make of kinds of their own.",
    severity=Severity.LOW,
    fix=_KEPT,
)
