"""Rules about the exporter of a stack: that it measures what workloads, rules and boards go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import value_at
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.exporter import (
    BY_PROCESS,
    RESOURCES,
    collects,
    exporter_chart_values,
    has_own_exporter,
    prometheus_of,
    told_shares,
    uncounted,
    with_process_metrics,
)
from eks_gpushare.sharing.metrics import needs_processes
from eks_gpushare.sharing.scaled_object import tells_pods_apart
from eks_gpushare.sharing.workloads import is_scaled, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.workloads import Prometheus
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

OTHER_EXPORTER = Rule(
    "GPU844",
    "warning",
    "The exporter of this stack measures processes where it is said to.",
    "Of pods that share a GPU it has numbers of the whole GPU, or 0 for each: then workloads gain "
    "and lose pods by what others do. Of pods that ask for a renamed share it has none, unless it "
    "is told the name: then nothing is measured, and their number stays as it is.",
    "https://github.com/NVIDIA/dcgm-exporter/pull/594",
)
NO_EXPORTER = Rule(
    "GPU851",
    "error",
    "Something measures the GPUs whose use workloads follow.",
    "Without a DCGM exporter there is no number of their use: pods neither come nor go, and "
    "nothing says why.",
    "https://docs.nvidia.com/datacenter/dcgm/latest/gpu-telemetry/dcgm-exporter.html",
)


@check(Scope.ENVIRONMENT, NO_EXPORTER, OTHER_EXPORTER)
def exporter(ctx: Context) -> Iterator[Finding]:
    """The GPU Operator brings one, and beside the device plugin it is asked for."""
    environment, asked = ctx.environment, prometheus_of(ctx.environment)
    block = environment.observability
    measured = collects(block)
    if not has_own_exporter(environment):
        if asked is not None:
            yield from _no_exporter(ctx, asked)
        elif measured:
            message = "Metrics are asked for, and the GPU Operator is told not to run its exporter."
            fix = "Remove dcgmExporter.enabled; or have another scraped, with honorLabels."
            at: FieldPath = ("charts", "gpuOperator", "values", "dcgmExporter", "enabled")
            yield OTHER_EXPORTER.finding(at, message, fix)
        return
    pools = pools_of_chart(environment.pools)
    if environment.gpu_stack.manager == "devicePlugin":
        chart = environment.charts.dcgm_exporter
        if chart is not None:
            values = exporter_chart_values(pools, ctx.catalog, chart.values, block=block)
            at = ("charts", "dcgmExporter", "values")
            file = values.get("customMetrics") if measured else None
            fix = "Remove what they say otherwise."
            yield from _other_exporter(ctx, values, "extraEnv", file, at, fix)
    elif measured or (asked is not None and asked.process_metrics):
        values = with_process_metrics(environment, pools, ctx.catalog)
        told = value_at(values, "dcgmExporter", {})
        told = told if isinstance(told, dict) else {}
        at = ("charts", "gpuOperator", "values", "dcgmExporter")
        fix = "Remove what they say otherwise."
        if not measured:
            at = ("keda", "prometheus", "processMetrics")
            fix = (
                "Remove what charts.gpuOperator.values.dcgmExporter says otherwise, or remove "
                "processMetrics."
            )
        file = value_at(told, "config.data") if measured else None
        yield from _other_exporter(ctx, told, "env", file, at, fix)


def _no_exporter(ctx: Context, given: Prometheus) -> Iterator[Finding]:
    if given.exporter is not None or given.process_metrics:
        return
    pools = ctx.environment.pools
    follows = [
        name
        for name, workload in (ctx.environment.workloads or {}).items()
        if is_scaled(workload) and workload.use_query is None
        # Of other pools GPU832 says that the exporter has to be another, too.
        if any(
            tells_pods_apart(pools[pool], workload.share, process_metrics=False)
            for pool in pools_of(workload)
            if pool in pools
        )
    ]
    if follows:
        manager = ctx.environment.gpu_stack.manager
        why, own = "brings none", "Set gpuStack: {dcgmExporter: true}."
        if manager == "gpuOperator":
            why, own = "is told not to run one", "Remove dcgmExporter.enabled from its values."
        yield NO_EXPORTER.finding(
            ("keda", "prometheus", "exporter"),
            f"The pods of {', '.join(follows)} follow the use of GPUs, which a DCGM exporter "
            f"measures, and {manager} {why}.",
            f"{own} Or set exporter: existing if somebody else runs one that this server scrapes, "
            "or useQuery in the workloads.",
        )


def _other_exporter(
    ctx: Context, values: Mapping[str, Any], key: str, file: Any, at: FieldPath, fix: str
) -> Iterator[Finding]:
    """What an exporter of the stack's own lacks, as the values of its chart are in the end.

    Args:
        ctx: The stack.
        values: What the exporter is told.
        key: The key of its environment there.
        file: Its counters, where rules of the stack count on them.
        at: Where the stack says otherwise.
        fix: What to change.
    """
    env = values.get(key)
    variables = {
        variable.get("name"): variable
        for variable in (env if isinstance(env, list) else ())
        if isinstance(variable, dict)
    }
    pools = pools_of_chart(ctx.environment.pools)
    lacking = []
    # Beside the operator a stack says of its own accord that processes are measured.
    said = key == "env" and not collects(ctx.environment.observability)
    if said or needs_processes(pools.values()):
        lacking += [] if values.get("hostPID") is True else ["hostPID: true"]
        if str(variables.get(BY_PROCESS, {}).get("value")).lower() not in {"1", "t", "true"}:
            lacking.append(f'{BY_PROCESS}: "true" in {key}')
    shares = told_shares(ctx.environment, pools, ctx.catalog)
    lacking += _unlisted(shares, variables.get(RESOURCES, {}), key)
    if isinstance(file, str) and (uncounting := uncounted(file, pools)):
        lacking.append(f"the counters {', '.join(uncounting)}")
    if lacking:
        whose = "the GPU Operator" if key == "env" else "the stack"
        message = f"The exporter of {whose} runs without {' and '.join(lacking)}."
        yield OTHER_EXPORTER.finding(at, message, fix)


def _unlisted(shares: list[str], variable: Mapping[str, Any], key: str) -> list[str]:
    """What has to be added to the resources whose pods the exporter sees."""
    listed = {name.strip() for name in str(variable.get("value") or "").split(",")}
    unlisted = [share for share in shares if share not in listed]
    if not unlisted or "valueFrom" in variable:
        return []
    return [f"{', '.join(unlisted)} among {RESOURCES} in {key}"]
