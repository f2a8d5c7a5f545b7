"""Disruption budgets leave a way to drain nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import format_value
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, Unjudged
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUDGET = Kind("policy", "PodDisruptionBudget")
_SET = "Set `spec.maxUnavailable: 1`, and no `minAvailable`."
_ONE = Fix(
    "The budgets of a stack file's workloads let one pod go: remove what changes that, such as a "
    "transform.",
    _SET,
    _SET,
)


def _budget(subject: Subject) -> Iterator[str | Unjudged]:
    spec = at(subject.object.body, "spec")
    most, least = (at(spec, key) for key in ("maxUnavailable", "minAvailable"))
    if UNKNOWN in (spec, most, least):
        yield Unjudged("maxUnavailable and minAvailable")
    elif _is(most, "0"):
        yield _held(subject, f"maxUnavailable {format_value(most)}")
    elif _is(least, "100%"):
        yield _held(subject, f"minAvailable {format_value(least)}")


def _is(value: Any, written: str) -> bool:
    return value is not None and str(value).strip() in {written, f"{written.rstrip('%')}%"}


def _held(subject: Subject, what: str) -> str:
    return (
        f"{subject.opening} has {what}, so that none of its pods may be evicted. One must be, or "
        f"nodes with a pod of it are never drained: updates of node groups fail, and Karpenter "
        f"pays on for nodes that it would give back. {_ONE.of(subject.args.urn)}"
    )


BUDGETS_LET_NODES_GO = ResourcePolicy(
    "budgets-let-nodes-go",
    "Disruption budgets must let pods go one at a time, or nodes cannot be drained.",
    checks=ObjectChecks({_BUDGET: _budget}),
    severity=Severity.MEDIUM,
    fix=_ONE,
)
