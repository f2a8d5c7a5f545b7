"""Rules about what guards tenants: Kueue's version, taints of nodes, labels of namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.names import BAD_LABEL, value_fault
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

OTHER_KUEUE = Rule(
    "GPU891",
    "warning",
    "Kueue is of a minor version that this release was written for.",
    "Its kinds and its configuration change between minor versions: a field may be unknown, or "
    "resources that no queue names may pass without being counted.",
    "https://github.com/kubernetes-sigs/kueue/tree/main/CHANGELOG",
    not_alone="What holds tenants is not told of the chart that queues their pods.",
)
UNTAINTED = Rule(
    "GPU892",
    "warning",
    "Nodes of pools that tenants share have a taint.",
    "Admission policies refuse tenants' pods without a request there by their tolerations. Without "
    "a taint none is needed: anybody's pods may take CPU and memory of the nodes, and room.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
_KEEP_AWAY = frozenset(("NoSchedule", "NoExecute"))
_WITH_KINDS = (0, 16)
"""Since which minor version both of its APIs, objects and configuration, are v1beta2."""
_GIVES_BACK = (0, 16, 3)
"""Since when weights leave alone what a tenant is sure of, with
https://github.com/kubernetes-sigs/kueue/pull/9592."""


@check(Scope.TENANTS, OTHER_KUEUE)
def kueue_version(ctx: Context) -> Iterator[Finding]:
    tenants = ctx.environment.tenants or {}
    chart = ctx.environment.charts.kueue
    if chart is not None and any(tenant.queue for tenant in tenants.values()):
        yield from other_version(("charts", "kueue", "version"), chart)


def other_version(at: FieldPath, chart: Chart) -> Iterator[Finding]:
    """What is to be said of Kueue's chart in another minor version.

    Args:
        at: The key of its version.
        chart: The chart as the stack has it.
    """
    ours, theirs = parse_version(versions.KUEUE.version), parse_version(chart.version or "")
    known = versions.KUEUE.version
    if theirs is None or ours is None:
        return
    if _WITH_KINDS <= theirs < _GIVES_BACK:
        yield OTHER_KUEUE.finding(
            at,
            f"Kueue {chart.version} keeps from a tenant what it is sure of, where priorities "
            "differ and it has borrowed something else.",
            f"Take {known}, or leave the key out.",
        )
    if theirs[:2] == ours[:2]:
        return
    if theirs < _WITH_KINDS:
        yield OTHER_KUEUE.finding(
            at,
            f"Kueue {chart.version} does not know the API versions v1beta2 of the queues that are "
            "made.",
            f"Take {known}, or leave the key out.",
            "error",
        )
        return
    yield OTHER_KUEUE.finding(
        at,
        f"Queues are made for Kueue {known}, and {chart.version} may count otherwise.",
        f"Leave the key out, or try it first: eks-gpushare lab run has {known}.",
    )


@check(Scope.TENANTS, UNTAINTED)
def tainted(ctx: Context) -> Iterator[Finding]:
    for name, pool in ctx.environment.pools.items():
        here = [t for t, tenant in (ctx.environment.tenants or {}).items() if name in tenant.pools]
        if here and not any(taint.effect in _KEEP_AWAY for taint in pool.taints):
            whose = f"{'tenants' if len(here) > 1 else 'tenant'} {', '.join(here)}"
            yield UNTAINTED.finding(
                ("pools", name, "taints"),
                f"Pods of any namespace may be on these nodes, with shares of the {whose}.",
                "Leave the key out: the default is nvidia.com/gpu=true:NoSchedule.",
            )


@check(Scope.TENANTS, BAD_LABEL)
def cost_centers(ctx: Context) -> Iterator[Finding]:
    for name, tenant in (ctx.environment.tenants or {}).items():
        if tenant.cost is not None and (fault := value_fault(tenant.cost.center)):
            at: FieldPath = ("tenants", name, "cost", "center")
            yield BAD_LABEL.finding(at, fault, "Change it: it is a label of the namespace.")
