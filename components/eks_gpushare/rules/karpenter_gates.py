"""Rules about the feature gates of Karpenter: which of them the release has that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.catalog.karpenter_releases import FEATURE_GATES, GATES_READ, has_gate
from eks_gpushare.config.base import known_fields
from eks_gpushare.config.component_specs import KarpenterSpec
from eks_gpushare.documents.go_bool import FALSE, TRUE
from eks_gpushare.documents.helm import value_at
from eks_gpushare.facts.index import rule_of
from eks_gpushare.rules.chart_types import WRONG_VALUE, value_as_text
from eks_gpushare.rules.karpenter_install import OLD_KARPENTER, needs
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.karpenter.controller import chart_version
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.rules.context import Context

UNKNOWN_VALUE = rule_of("GPU711")


@check(Scope.KARPENTER, UNKNOWN_VALUE, WRONG_VALUE, OLD_KARPENTER)
def gates_of_values(ctx: Context) -> Iterator[Finding]:
    """Those that the chart is told of by values of the user's own."""
    chart = known_fields(ctx.environment.charts).get("karpenter")
    given = None if chart is None else value_at(chart.values, "settings.featureGates")
    above: FieldPath = ("charts", "karpenter", "values", "settings", "featureGates")
    if chart is None or given is None:
        return
    if not isinstance(given, dict):
        message = f"settings.featureGates is a mapping, not {value_as_text(given)}."
        yield WRONG_VALUE.finding(above, message, "Write each gate like nodeOverlay: true.")
        return
    for gate, told in given.items():
        if told is not None and str(told) not in TRUE | FALSE:
            message = f"{gate} is true or false, not {value_as_text(told)}"
            fix = "Write true or false."
            yield WRONG_VALUE.finding((*above, gate), f"{message}: Karpenter does not start.", fix)
    yield from unknown_gates(UNKNOWN_VALUE, given, chart, above)
    yield from _too_old(ctx, given, chart, above)


@check(Scope.KARPENTER, OLD_KARPENTER)
def gates_of_component(ctx: Context) -> Iterator[Finding]:
    """Those that a Karpenter which stands alone is told of."""
    block = known_fields(ctx.environment).get("karpenter")
    if isinstance(block, KarpenterSpec):
        chart = ctx.environment.charts.karpenter
        yield from _too_old(ctx, block.feature_gates, chart, ("karpenter", "featureGates"))


def unknown_gates(
    rule: Rule, gates: Mapping[str, Any], chart: Chart, above: FieldPath
) -> Iterator[Finding]:
    """Findings on names of gates that no release has, or not the one that is installed.

    Args:
        rule: Of which kind they are.
        gates: Gates by their names in the chart's values.
        chart: What is changed about the chart.
        above: Where the gates stand.
    """
    version = chart_version(chart)
    for gate in gates:
        meant = similar(gate, FEATURE_GATES)
        if gate in FEATURE_GATES or (has_gate(gate, version) is None and not meant):
            continue
        those = ", ".join(f'"{name}"' for name in FEATURE_GATES if has_gate(name, version))
        fix = f'Did you mean "{meant}"?' if meant else f"It has {those}."
        yield rule.finding((*above, gate), f'Karpenter has no feature gate "{gate}".', fix)


def _order(version: str) -> tuple[Any, ...]:
    return parse_version(version) or ()


def _too_old(
    ctx: Context, gates: Mapping[str, Any], chart: Chart, above: FieldPath
) -> Iterator[Finding]:
    """Of a version that somebody wrote, the gate that needs the newest one: it is one mistake."""
    version = chart_version(chart)
    old = [
        gate
        for gate, told in gates.items()
        if gate in FEATURE_GATES
        and str(told).lower() == "true"
        and has_gate(gate, version) is False
    ]
    if chart.version is not None:
        # What the pools need of a release says more, where that is as new.
        newest = max((_order(needed) for needed, _ in needs(ctx)), default=())
        old = sorted(old, key=lambda gate: _order(FEATURE_GATES[gate]))[-1:]
        old = [gate for gate in old if _order(FEATURE_GATES[gate]) > newest]
    for gate in old:
        needed = FEATURE_GATES[gate]
        at = (*above, gate) if chart.version is None else ("charts", "karpenter", "version")
        yield OLD_KARPENTER.finding(
            at,
            f'Karpenter {version} is too old for the gate "{gate}", which needs {needed} at least.',
            f"Do without the gate, or set the chart's version to one from {needed} on; gates are "
            f"known up to {GATES_READ}.",
        )
