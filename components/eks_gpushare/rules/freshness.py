"""The ages of what was true: images, charts and prices."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from eks_gpushare.catalog import versions
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import pools_of_chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog.versions import HelmChart
    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

IMAGE_DAYS = 180
"""EKS publishes an image about every second week, and support of a driver branch is a year."""
CHART_DAYS = 270
"""The charts have a minor release about every quarter."""
PRICES_DAYS = 365
OLD = Rule(
    "GPU473",
    "info",
    f"Images are no older than {IMAGE_DAYS} days, what is known of charts than {CHART_DAYS}, and "
    f"of prices than {PRICES_DAYS}.",
    "Fixes of security come with newer ones, and what is said here of them may not hold any more.",
    "https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-versions-al2023.html",
    not_alone="How old what this package knows is, is told once for a stack.",
)
_DAY = re.compile(r"[0-9.]+-([0-9]{4})([0-9]{2})([0-9]{2})")


@check(Scope.ENVIRONMENT, OLD)
def newer_by_now(ctx: Context) -> Iterator[Finding]:
    pools = ctx.environment.pools
    for name, pool in pools.items():
        made = _made(pool.ami_version)
        if made is not None and (days := (ctx.today - made).days) > IMAGE_DAYS:
            yield OLD.finding(
                ("pools", name, "amiVersion"),
                f"The image is of {made}, {days} days ago.",
                "Take a newer release: it replaces the pool's nodes one by one.",
            )
    old = [
        chart
        for chart, given in _charts(ctx)
        if (ctx.today - chart.read).days > CHART_DAYS and (given is None or given.version is None)
    ]
    if old:
        read = min(chart.read for chart in old)
        listed = ", ".join(f"{chart.name} {chart.version}" for chart in old)
        yield OLD.finding(
            ("charts",),
            f"Newest on {read}, {(ctx.today - read).days} days ago, or soon after: {listed}.",
            "Take a newer release of eks-gpushare.",
        )
    days = (ctx.today - versions.PRICES_READ).days
    if pools and days > PRICES_DAYS:
        yield OLD.finding(
            ("pools",),
            f"Prices of instances are of {versions.PRICES_READ}, {days} days ago.",
            "Take a newer release of eks-gpushare, or give prices in catalog.instanceTypes.",
        )


def _charts(ctx: Context) -> Iterator[tuple[HelmChart, Chart | None]]:
    """The charts that a stack has, and what the stack file says of each."""
    environment = ctx.environment
    charts = environment.charts
    if pools_of_chart(environment.pools):
        if environment.gpu_stack.manager == "gpuOperator":
            yield versions.GPU_OPERATOR, charts.gpu_operator
        else:
            yield versions.DEVICE_PLUGIN, charts.device_plugin
            if environment.gpu_stack.dcgm_exporter or environment.observability is not None:
                yield versions.DCGM_EXPORTER, charts.dcgm_exporter
    block = environment.observability
    if block is not None and block.prometheus is not None and block.prometheus.install:
        yield versions.PROMETHEUS, charts.prometheus
    if environment.karpenter is not None:
        yield versions.KARPENTER, charts.karpenter
    if environment.cluster_autoscaler is not None:
        yield versions.CLUSTER_AUTOSCALER, charts.cluster_autoscaler
    if environment.keda is not None:
        yield versions.KEDA, charts.keda


def _made(release: str | None) -> date | None:
    """The day of an AL2023 release, which its name ends with; of no other it is known."""
    found = _DAY.fullmatch(release or "")
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None
