"""One program decides how many pods a workload has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import text
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import StackPolicy, Unjudged
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_HPA = Kind("autoscaling", "HorizontalPodAutoscaler")
_SCALED = Kind("keda.sh", "ScaledObject")

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
    ),
    severity=Severity.MEDIUM,
    fix=_ONE,
)
