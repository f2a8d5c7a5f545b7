"""The rules for metrics that stand alone, as `component_rules` has them for other components."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.config.base import known_fields, partial_model
from eks_gpushare.config.environment import Charts
from eks_gpushare.config.observability import Observability
from eks_gpushare.findings.finding import dotted
from eks_gpushare.rules.component_rules import (
    _context,
    _environment,
    _run,
    _run_pools,
    _some,
    _within,
)
from eks_gpushare.rules.registry import Scope
from eks_gpushare.sharing.exporter import makes_collector
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from eks_gpushare.config.component_specs import GpuMetricsSpec
    from eks_gpushare.findings.finding import Finding

_CHARTS: Final = {"dcgmExporter": "exporter_chart", "prometheus": "prometheus_chart"}
"""Arguments, by what they are among the charts of a stack file."""


COLLECTED_INPUTS: Final = ("cluster_arn", "subnet_ids", "security_group_ids")
"""Arguments that say which cluster AWS's collector is for."""


def check_gpu_metrics(spec: GpuMetricsSpec, wired: Collection[str]) -> Iterator[Finding]:
    """Findings about metrics, alerts and boards, and the charts that they come with.

    Args:
        spec: The metrics.
        wired: Those of `COLLECTED_INPUTS` that are given.
    """
    known = known_fields(spec)
    block = partial_model(Observability, **_some(known, *Observability.model_fields))
    parts: dict[str, Any] = {"observability": block}
    parts |= _some(known, "pools", "tenants", "gpu_stack", "verifier")
    charts = {"dcgm_exporter": "exporter_chart", "prometheus": "prometheus_chart"}
    given = {name: known[key] for name, key in charts.items() if key in known}
    parts["charts"] = partial_model(Charts, **given)
    ctx, found = _context(_environment(spec, **parts), known.get("region"))
    yield from found
    yield from _within(("observability",), _run(ctx, Scope.METRICS))
    yield from _run(ctx, Scope.TAGS)
    if makes_collector(block):
        for key in COLLECTED_INPUTS:
            if key not in wired:
                message = "AWS's collector is of one cluster, and has interfaces in its network."
                fix = "Give cluster_arn, subnet_ids and security_group_ids of the EKS cluster."
                yield shape_rules.MISSING_KEY.finding((key,), message, fix)
    for finding in _run(ctx, Scope.CHARTS):
        yield _of_metrics_chart(finding)
    # What is merely worth knowing about a pool is said where its nodes are made.
    yield from (finding for finding in _run_pools(ctx) if finding.severity == "error")


def _of_metrics_chart(found: Finding) -> Finding:
    """What is `charts.prometheus` and `charts.dcgmExporter` in a stack file."""
    match found.at:
        case ("charts", name, *inner):
            at = (_CHARTS.get(str(name), name), *inner)
            return replace(found, at=at, path=dotted(at))
    return found
