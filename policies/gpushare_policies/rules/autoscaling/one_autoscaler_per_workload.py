"""One program decides how many pods a workload has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_HPA = Kind("autoscaling", "HorizontalPodAutoscaler")
_SCALED = Kind("keda.sh", "ScaledObject")

_VPA = Kind("autoscaling.k8s.io", "VerticalPodAutoscaler")
_SIZED = ("cpu", "memory")
_TRIGGERS = ("cpu", "memory")
"""Of KEDA, which makes metrics of resources of them."""

_REMOVE = "Remove one of them, or add its metric to the other."
_ONE = Fix(
    "Remove your own: `workloads.<workload>.replicas` in the stack file makes one.",
    _REMOVE,
    _REMOVE,
)


def _target(each: PlacedObject) -> Any:
    """Kind and name of what is scaled."""
    spec = each.object.body.get("spec")
    reference = at(spec, "scaleTargetRef")
    kind, name = text(at(reference, "kind"), "Deployment"), text(at(reference, "name"))
    return UNKNOWN if UNKNOWN in (kind, name, each.namespace) else (kind, name)


def _autoscalers(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    yield from _both_ways(args)
    seen: dict[tuple[str, Any, Any], PlacedObject] = {}
    for obj in objects_in(args.resources, (_HPA, _SCALED)):
        target = _target(obj)
        if obj.object.patch:
            continue
        if target is UNKNOWN:
            yield Unjudged(f"what {_called(obj)} scales")
            continue
        first = seen.setdefault((*obj.place, target), obj)
        if first is not obj:
            kind, name = target
            message = (
                f"{at_start(_called(obj))} scales the {kind} {name}, as {_called(first)} does. "
                f"Only one must: each takes back what the other did. {_ONE.of(obj.urn)}"
            )
            yield message, obj.urn


def _both_ways(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    """An autoscaler of sizes beside one of numbers that goes by the same use.

    https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/known-limitations.md
    """
    found = [
        obj for obj in objects_in(args.resources, (_HPA, _SCALED, _VPA)) if not obj.object.patch
    ]
    for sizes in found:
        wanted = at(sizes.object.body, "spec", "targetRef")
        target = (text(at(wanted, "kind")), text(at(wanted, "name")))
        if sizes.object.kind != _VPA or UNKNOWN in target or None in target:
            continue
        for numbers in found:
            same = numbers.place == sizes.place and numbers.object.kind != _VPA
            if (
                same
                and _target(numbers) == target
                and (both := _sized(sizes) & _scaled_by(numbers))
            ):
                message = (
                    f"{at_start(_called(sizes))} sizes the {target[0]} {target[1]} by "
                    f"{' and '.join(sorted(both))}, by which {_called(numbers)} scales it. Only "
                    f"one must: each changes what the other goes by. {_ONE.of(sizes.urn)}"
                )
                yield message, sizes.urn


def _sized(vpa: PlacedObject) -> frozenset[str]:
    """Resources whose requests a VerticalPodAutoscaler changes, as far as that is known."""
    spec = vpa.object.body.get("spec")
    if text(at(spec, "updatePolicy", "updateMode"), "Auto") in ("Off", UNKNOWN):
        return frozenset()
    left = set(_SIZED)
    for _, policy in mappings(at(spec, "resourcePolicy", "containerPolicies")):
        if text(policy.get("mode"), "Auto") == "Off":
            return frozenset()
        if (controlled := policy.get("controlledResources")) is not None:
            left &= set(map(str, items(controlled)))
    return frozenset(left)


def _scaled_by(numbers: PlacedObject) -> frozenset[str]:
    """Resources whose use, as a share of what is requested, says how many pods there are."""
    spec = numbers.object.body.get("spec")
    if numbers.object.kind == _SCALED:
        triggers = [trigger for _, trigger in mappings(at(spec, "triggers"))]
        return frozenset(
            str(each.get("type")) for each in triggers if each.get("type") in _TRIGGERS
        )
    metrics = at(spec, "metrics")
    if metrics is None:
        return frozenset(("cpu",))
    return frozenset(
        str(at(metric, "resource", "name"))
        for _, metric in mappings(metrics)
        if at(metric, "resource", "target", "type") == "Utilization"
    )


def _called(each: PlacedObject) -> str:
    name = each.object.name
    shown = "that is yet to be named" if name is UNKNOWN else name
    return f"the {each.object.kind.kind} {shown}"


ONE_AUTOSCALER_PER_WORKLOAD = StackPolicy(
    "one-autoscaler-per-workload",
    "A workload must have one autoscaler; KEDA makes one of each ScaledObject.",
    check=_autoscalers,
    applies_to=(
        "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
        "kubernetes:keda.sh/v1alpha1:ScaledObject",
        "kubernetes:autoscaling.k8s.io/v1:VerticalPodAutoscaler",
    ),
    severity=Severity.MEDIUM,
    fix=_ONE,
)
