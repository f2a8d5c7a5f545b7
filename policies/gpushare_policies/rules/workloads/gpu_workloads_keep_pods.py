"""Not all pods of a GPU workload go at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.containers import gpu_amounts, pods_of
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import count, items, mappings
from gpushare_policies.reading.program_objects import Placed, objects_in
from gpushare_policies.rule import StackRule, Unjudged
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAKERS = (Kind("apps", "Deployment"), Kind("apps", "StatefulSet"))
_BUDGET = Kind("policy", "PodDisruptionBudget")
_SEVERAL = 2

_MAKE_ONE = "Make a PodDisruptionBudget whose selector is for its pods, with `maxUnavailable: 1`."
_KEPT = Fix(
    "Leave `workloads.<workload>.disruptionBudget` out of the stack file.", _MAKE_ONE, _MAKE_ONE
)


def _workloads(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    found = list(objects_in(args.resources, (*_MAKERS, _BUDGET)))
    budgets = [each for each in found if each.object.kind == _BUDGET]
    for each in found:
        if each.object.kind == _BUDGET or each.object.patch or not _has_several(each):
            continue
        verdicts = [_is_for(budget, each) for budget in budgets]
        name = each.object.name
        shown = "that is yet to be named" if name is UNKNOWN else name
        if True in verdicts:
            continue
        if None in verdicts:
            yield Unjudged(f"the disruption budgets of the {each.object.kind.kind} {shown}")
            continue
        message = (
            f"The {each.object.kind.kind} {shown} has several pods with GPUs and no "
            f"PodDisruptionBudget. It must have one, or an update of the nodes ends all of them at "
            f"once, and loading models takes minutes. {_KEPT.of(each.urn)}"
        )
        yield message, each.urn


def _has_several(each: Placed) -> bool:
    replicas = count(at(each.object.body, "spec", "replicas"))
    if replicas in (None, UNKNOWN) or replicas < _SEVERAL:
        return False
    amounts = [gpu_amounts(one) for pod in pods_of(each.object) for one in pod.containers]
    return any(each is not UNKNOWN and each for each in amounts)


def _is_for(budget: Placed, workload: Placed) -> bool | None:
    """Whether a budget selects the pods of a workload."""
    if budget.cluster != workload.cluster:
        return False
    if UNKNOWN in (budget.namespace, workload.namespace):
        return None
    selector = at(budget.object.body, "spec", "selector")
    labels = at(workload.object.body, "spec", "template", "metadata", "labels")
    if budget.namespace != workload.namespace:
        return False
    if UNKNOWN in (selector, labels):
        return None
    return _selects(selector, labels if isinstance(labels, dict) else {})


def _selects(selector: Any, labels: dict[str, Any]) -> bool:
    """As a label selector of Kubernetes; an empty one selects all pods."""
    wanted = at(selector, "matchLabels")
    for key, value in (wanted if isinstance(wanted, dict) else {}).items():
        if str(labels.get(key)) != str(value):
            return False
    for _, each in mappings(at(selector, "matchExpressions")):
        has, values = each.get("key") in labels, [str(one) for one in items(each.get("values"))]
        value = str(labels.get(str(each.get("key"))))
        fits = {
            "In": has and value in values,
            "NotIn": value not in values,
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not fits.get(str(each.get("operator")), True):
            return False
    return selector is not None


GPU_WORKLOADS_KEEP_PODS = StackRule(
    "gpu-workloads-keep-pods",
    "Workloads with several pods on GPUs must have a PodDisruptionBudget.",
    check=_workloads,
    applies_to=(
        "kubernetes:apps/v1:Deployment",
        "kubernetes:apps/v1:StatefulSet",
        "kubernetes:policy/v1:PodDisruptionBudget",
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_KEPT,
)
