"""Rules about Karpenter itself: the values of its chart, and the cluster it is installed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.autoscaling import Karpenter
from eks_gpushare.config.base import known_fields
from eks_gpushare.documents.go_bool import FALSE
from eks_gpushare.documents.helm import value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.charts import IDLE_CHART, undone
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.karpenter.controller import (
    asks_for_repair,
    karpenter_pools,
    uses_karpenter,
)
from eks_gpushare.sharing.karpenter.node_overlay import needs_overlays

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

GATE_OFF = Rule(
    "GPU757",
    "error",
    "Values of Karpenter's chart leave on what the pools need.",
    "Karpenter would believe that every pod needs a GPU of its own, and launch a node for each, or "
    "none at all.",
    "https://karpenter.sh/docs/reference/settings/#feature-gates",
    not_alone="Karpenter is not told of its pools' sharing.",
)
GATES_ELSEWHERE = Rule(
    "GPU799",
    "info",
    "A Karpenter that is there already has the feature gates that the pools need.",
    "Without them it takes no note of NodeOverlays or static pools: the update waits for objects "
    "that never get ready, and ends in an error.",
    "https://karpenter.sh/docs/reference/settings/#feature-gates",
    not_alone="A pool is not told who installs Karpenter.",
)
UNDONE_KARPENTER = Rule(
    "GPU741",
    "error",
    "Values of Karpenter's chart do not undo what is derived from the stack.",
    "Its role is for one account in one cluster, and its queue is told of its nodes: under another "
    "name it may do nothing in AWS, or learns of no interruption.",
    "https://karpenter.sh/docs/reference/settings/",
)

_SETTINGS = ("charts", "karpenter", "values", "settings")
_GATES = "featureGates"
_NOTHING = object()


@check(Scope.ENVIRONMENT, GATE_OFF)
def gates(ctx: Context) -> Iterator[Finding]:
    given = ctx.environment.charts.karpenter.values
    if not given:
        return
    for gate, (name, why) in _needed(ctx).items():
        said = _said(given, ("settings", _GATES, gate))
        if said is None or str(said) in FALSE:
            yield GATE_OFF.finding(
                (*_SETTINGS, _GATES, gate),
                f"The pool {name} needs the feature gate {gate}: {why}.",
                f"Remove it; the stack turns {gate} on where a pool needs it.",
            )
    if _said(given, ("settings", "ignoreDRARequests")) is False:
        yield GATE_OFF.finding(
            (*_SETTINGS, "ignoreDRARequests"),
            "Karpenter on AWS launches nothing for pods that ask for GPUs by ResourceClaims.",
            "Remove it, and let pods request what the pool advertises.",
        )
    env = value_at(given, "controller.env")
    for index, variable in enumerate(env if isinstance(env, list) else ()):
        if isinstance(variable, dict) and variable.get("name") == "FEATURE_GATES":
            yield GATE_OFF.finding(
                ("charts", "karpenter", "values", "controller", "env", index),
                "FEATURE_GATES would win over all gates that the stack turns on.",
                "Remove it, and give others under settings.featureGates.",
            )


@check(Scope.KARPENTER, UNDONE_KARPENTER)
def undone_values(ctx: Context) -> Iterator[Finding]:
    chart = known_fields(ctx.environment.charts).get("karpenter")
    block = known_fields(ctx.environment).get("karpenter") or Karpenter()
    if chart is None or not chart.values:
        return
    derived = {**_AS_THE_CHART_HAS_IT, "replicas": block.replicas}
    roles = dict(_ROLES)
    if block.interruption_queue:
        roles["settings.interruptionQueue"] = "is the queue that is told of interruptions"
    yield from undone(
        UNDONE_KARPENTER, "karpenter", chart.values, derived, roles, source="the stack"
    )


_AS_THE_CHART_HAS_IT: Mapping[str, Any] = {
    "nameOverride": "",
    "fullnameOverride": "",
    "serviceAccount": {"create": True, "name": ""},
}
_ROLES: Mapping[str, str] = {
    "settings.clusterName": "is the cluster whose nodes it makes",
    "replicas": "is karpenter.replicas",
    "nameOverride": "is part of the name of the account that has the role",
    "fullnameOverride": "is the name of the account that has the role",
    "serviceAccount.create": "makes the account that has the role",
    "serviceAccount.name": "is the account that has the role",
}
"""Values that come from the stack, and what they do."""


@check(Scope.ENVIRONMENT, GATES_ELSEWHERE)
def gates_elsewhere(ctx: Context) -> Iterator[Finding]:
    block = ctx.environment.karpenter
    needed = _needed(ctx) if block is not None and not block.install else {}
    if needed:
        listed = ", ".join(f"{gate} for {name}" for gate, (name, _) in needed.items())
        values = ",".join(f"settings.featureGates.{gate}=true" for gate in needed)
        yield GATES_ELSEWHERE.finding(
            ("karpenter", "install"),
            f"The pools need feature gates of a Karpenter that somebody else installs: {listed}.",
            f"See that its chart has {values}, and that its role may pass nodeRole.",
        )


def _needed(ctx: Context) -> dict[str, tuple[str, str]]:
    """Gates that the stack needs, each with a pool that needs it and why."""
    needed: dict[str, tuple[str, str]] = {}
    for name, pool in karpenter_pools(ctx.environment).items():
        plan = planned(ctx, name, pool)
        if plan is not None and needs_overlays(plan, ctx.catalog):
            why = "without it no NodeOverlay says what a node of it advertises"
            needed.setdefault("nodeOverlay", (name, why))
        if pool.is_static:
            needed.setdefault("staticCapacity", (name, "it is static"))
        if {"reserved", "capacityBlock"} & {*pool.bought_as}:
            needed.setdefault("reservedCapacity", (name, "it draws on a reservation"))
        if asks_for_repair(pool):
            needed.setdefault("nodeRepair", (name, "it has nodeRepair"))
    return needed


def _said(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """What values say at a path: a null above it removes what is below."""
    found: Any = values
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return _NOTHING if isinstance(found, dict) else None
        found = found[key]
    return found


@check(Scope.ENVIRONMENT, IDLE_CHART)
def idle_chart(ctx: Context) -> Iterator[Finding]:
    """For Karpenter's chart, where no pool is Karpenter's."""
    environment = ctx.environment
    changed = environment.charts.karpenter.model_dump(exclude_defaults=True)
    if changed and not uses_karpenter(environment):
        message = "No pool has provisioner: karpenter, so the chart is not installed."
        fix = "Remove the block, or add karpenter: {} to install it without a pool."
        yield IDLE_CHART.finding(("charts", "karpenter"), message, fix)
