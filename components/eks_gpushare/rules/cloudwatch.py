"""Rules about CloudWatch's add-on, where it collects the metrics of a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.cloudwatch import CHART_SOURCE, is_measured, makes_addon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

UNMEASURED = Rule(
    "GPU992",
    "warning",
    "CloudWatch's exporter runs on the nodes of every pool.",
    "The add-on puts it on nodes of the instance types that its chart lists: of others nothing is "
    "measured, and their GPUs look like none.",
    CHART_SOURCE,
)


@check(Scope.METRICS, UNMEASURED)
def measured(ctx: Context) -> Iterator[Finding]:
    if not makes_addon(ctx.environment.observability):
        return
    for name, pool in ctx.environment.pools.items():
        for index, instance_type in enumerate(pool.instance_types):
            if is_measured(instance_type):
                continue
            message = f"The add-on's exporter does not run on {instance_type}."
            fix = "Take another type; or set metrics to prometheusOperator or managedPrometheus, "
            yield UNMEASURED.finding(
                ("pools", name, "instanceTypes", index),
                message,
                f"{fix}whose exporter goes by the pools.",
            )
