"""Rules about the device plugin of Elastic Fabric Adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog import bottlerocket as facts
from eks_gpushare.catalog import versions
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.ami_releases import first_for_cluster
from eks_gpushare.rules.charts import IDLE_CHART, undone
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.efa import EFA, efa_plugin_values, pools_with_efa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_EFA_ON_EKS = "https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html"
_CHART = "https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin"

UNDONE_EFA_VALUE = Rule(
    "GPU430",
    "error",
    "Values of the EFA device plugin's chart do not undo what is derived from the pools.",
    "It would reach other nodes than those with EFA, or not all of them.",
    _CHART,
)
TWO_EFA_PLUGINS = Rule(
    "GPU431",
    "info",
    "A cluster has one EFA device plugin.",
    "Two register the same interfaces, and a release of that name cannot be installed twice.",
    _CHART,
    not_alone="A pool is not told who made its cluster.",
)
NO_EFA_PLUGIN = Rule(
    "GPU432",
    "warning",
    "Somebody installs the EFA device plugin.",
    f"No node advertises {EFA} without it, and pods that ask for it wait for ever.",
    _EFA_ON_EKS,
    not_alone="A pool is not told what else is in its cluster.",
)
OLD_FOR_EFA = Rule(
    "GPU433",
    "error",
    "A Bottlerocket release knows EFA.",
    "Before, there is no driver for it in the image, and nothing can install one.",
    _EFA_ON_EKS,
)

_OF_PLUGIN = {
    "supportedInstanceLabels": "sends the plugin to the nodes of the pools",
    "nodeSelector": "would narrow the nodes that the plugin reaches",
    "tolerations": "holds the taints of the pools",
}


@check(Scope.CHARTS, UNDONE_EFA_VALUE)
def undone_efa_values(ctx: Context) -> Iterator[Finding]:
    chart, pools = ctx.environment.charts.efa_device_plugin, pools_with_efa(ctx.environment)
    if chart is None or not pools:
        return
    taints = [taint for pool in pools.values() for taint in pool.taints]
    derived = efa_plugin_values(pools, taints, {})
    yield from undone(UNDONE_EFA_VALUE, "efaDevicePlugin", chart.values, derived, _OF_PLUGIN)


@check(Scope.ENVIRONMENT, IDLE_CHART, TWO_EFA_PLUGINS, NO_EFA_PLUGIN)
def efa_plugin(ctx: Context) -> Iterator[Finding]:
    environment = ctx.environment
    with_efa = [name for name, pool in environment.pools.items() if pool.efa]
    wanted = environment.gpu_stack.efa_device_plugin
    at = ("gpuStack", "efaDevicePlugin")
    if environment.charts.efa_device_plugin is not None and not pools_with_efa(environment):
        yield IDLE_CHART.finding(
            ("charts", "efaDevicePlugin"),
            "No pool has efa for which this stack installs the chart.",
            "Remove the block, or set efa: true in a pool.",
        )
    if with_efa and wanted is None and ctx.new_cluster is None:
        yield TWO_EFA_PLUGINS.finding(
            at,
            f"The stack installs {versions.EFA_DEVICE_PLUGIN.name} into a cluster that was there "
            "before.",
            "Set gpuStack: {efaDevicePlugin: false} if the cluster has it, else true.",
        )
    elif with_efa and wanted is False and ctx.new_cluster is not None:
        yield NO_EFA_PLUGIN.finding(
            at,
            f"The cluster is new, and nothing hands out the EFA interfaces of "
            f"{', '.join(with_efa)}.",
            "Remove the key, unless something else installs the plugin.",
        )


@check(Scope.POOL, OLD_FOR_EFA)
def bottlerocket_with_efa(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if not pool.efa or not is_bottlerocket(pool) or pool.ami_family == "custom":
        return
    release = facts.bottlerocket_release(pool.ami_version or "")
    if release is not None and release < facts.EFA:
        yield OLD_FOR_EFA.finding(
            ("pools", name, "amiVersion"),
            f"Bottlerocket {facts.format_version(release)} does not know EFA, which came with "
            f"{facts.format_version(facts.EFA)}.",
            f"Take {facts.format_version(first_for_cluster(ctx, facts.EFA))} or later.",
        )
