"""Who runs device plugins in an environment: NVIDIA's chart or GPU Operator, and AWS's for EFA."""

from typing import TYPE_CHECKING

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.catalog import versions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.cluster import ClusterByKubeconfig, ExistingCluster, NewCluster
from eks_gpushare.config.component_specs import (
    DevicePluginSpec,
    EfaDevicePluginSpec,
    EnvironmentSpec,
    GpuOperatorSpec,
)
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.pools import Pool
from eks_gpushare.device_plugin import DevicePlugin
from eks_gpushare.in_cluster.chart_parts import Predecessor, chart_release
from eks_gpushare.in_cluster.waiting_pods import tell_what_pods_wait_for
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.efa import pools_with_efa
from eks_gpushare.sharing.exporter import exporter_chart_values, with_process_metrics
from eks_gpushare.sharing.plan import startup_taints

if TYPE_CHECKING:
    from eks_gpushare.efa_device_plugin import EfaDevicePlugin
    from eks_gpushare.gpu_operator import GpuOperator

_DEVICE_PLUGIN = ("device-plugin", "DevicePlugin")
_GPU_OPERATOR = ("gpu-operator", "GpuOperator")
"""What the name of a manager ends with, and its class."""
_EXPORTER = "dcgm-exporter"
"""Name of the release of the exporter."""
_EXPORTER_SECONDS = 600


def register_manager(
    name: str,
    spec: EnvironmentSpec,
    refs: ClusterRefs,
    nodes: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register the manager if the pools need one; destroying, it goes before the nodes do.

    Args:
        name: Name of the environment.
        spec: The environment.
        refs: Its cluster.
        nodes: Its nodes.
        opts: Options that name the parent.

    Returns:
        The manager, or nothing.
    """
    pools = pools_of_chart(spec.pools)
    if not pools:  # Bottlerocket brings its own
        return []
    operator = spec.gpu_stack.manager == "gpuOperator"
    (role, _), before = (
        (_GPU_OPERATOR, _DEVICE_PLUGIN) if operator else (_DEVICE_PLUGIN, _GPU_OPERATOR)
    )
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=nodes)
    # Where the other one was before, Pulumi takes this one's chart for the other's: so it removes
    # that before it installs this. The last thing that a chart does is to take away all labels of
    # feature discovery, which is in both. Nothing else is the other's: after a switch that failed,
    # namespace and ConfigMaps of the one before are still there, and wait for no deletion.
    other = f"{name}-{before[0]}"
    urn = pulumi.create_urn(other, f"eks-gpushare:index:{before[1]}", opts.parent)
    register = _gpu_operator if operator else _device_plugin
    merged = pulumi.ResourceOptions.merge(opts, wired)
    manager = register(f"{name}-{role}", spec, pools, merged, Predecessor(other, urn))
    _tell_what_pods_wait_for(manager, spec, refs)
    return [manager]


def _tell_what_pods_wait_for(
    made: "DevicePlugin | GpuOperator | EfaDevicePlugin", spec: EnvironmentSpec, refs: ClusterRefs
) -> None:
    existing = spec.cluster.existing if isinstance(spec.cluster, ExistingCluster) else None
    context = existing.context if isinstance(existing, ClusterByKubeconfig) else None
    tell_what_pods_wait_for(made, made._release, made.namespace, refs.kubeconfig, context)


def register_efa_plugin(
    name: str,
    spec: EnvironmentSpec,
    refs: ClusterRefs,
    nodes: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register the EFA device plugin where a pool has EFA; arguments and result are as above."""
    pools = pools_with_efa(spec)
    if not pools:
        return []
    from eks_gpushare.efa_device_plugin import EfaDevicePlugin

    taints = {t for pool in pools.values() for t in (*pool.taints, *startup_taints(pool))}
    plugin = EfaDevicePluginSpec.model_construct(
        pools=tuple(sorted(pools)),
        taints=tuple(sorted(taints, key=lambda t: (t.key, t.effect, t.value))),
        chart=spec.charts.efa_device_plugin or Chart.model_construct(),
    )
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=nodes)
    merged = pulumi.ResourceOptions.merge(opts, wired)
    made = EfaDevicePlugin._from_spec(f"{name}-efa-device-plugin", plugin, merged)
    _tell_what_pods_wait_for(made, spec, refs)
    return [made]


def register_exporter(
    name: str,
    spec: EnvironmentSpec,
    refs: ClusterRefs,
    managers: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register the DCGM exporter beside the device plugin, in its namespace, if it is asked for.

    Args:
        name: Name of the environment.
        spec: The environment.
        refs: Its cluster.
        managers: What `register_manager` has made.
        opts: Options that name the parent.

    Returns:
        The exporter, or nothing.
    """
    plugin = next((manager for manager in managers if isinstance(manager, DevicePlugin)), None)
    if plugin is None or not spec.gpu_stack.dcgm_exporter:
        return []
    chart = spec.charts.dcgm_exporter or Chart.model_construct()
    catalog, _ = catalog_of(spec.catalog, None)
    values = exporter_chart_values(
        pools_of_chart(spec.pools),
        catalog,
        chart.values,
        # Every cluster that a stack makes has the agent; of others nobody here knows.
        node_monitoring_agent=isinstance(spec.cluster, NewCluster),
    )
    wired = pulumi.ResourceOptions(provider=refs.provider, depends_on=[plugin])
    release = chart_release(
        f"{name}-dcgm-exporter",
        _EXPORTER,
        plugin.namespace,
        release_source(chart, versions.DCGM_EXPORTER),
        values,
        chart.timeout_seconds or _EXPORTER_SECONDS,
        pulumi.ResourceOptions.merge(opts, wired),
    )
    return [release]


def _device_plugin(
    name: str,
    spec: EnvironmentSpec,
    pools: dict[str, Pool],
    opts: pulumi.ResourceOptions,
    before: Predecessor,
) -> DevicePlugin:
    plugin = DevicePluginSpec.model_construct(
        pools=pools,
        namespace=spec.gpu_stack.namespace,
        chart=spec.charts.device_plugin,
        catalog=spec.catalog,
    )
    return DevicePlugin._from_spec(name, plugin, opts, before)


def _gpu_operator(
    name: str,
    spec: EnvironmentSpec,
    pools: dict[str, Pool],
    opts: pulumi.ResourceOptions,
    before: Predecessor,
) -> "GpuOperator":
    from eks_gpushare.gpu_operator import GpuOperator

    # Every cluster that a stack makes has the agent; of others nobody here knows.
    agent = isinstance(spec.cluster, NewCluster)
    catalog, _ = catalog_of(spec.catalog, None)
    values = with_process_metrics(spec, pools, catalog, node_monitoring_agent=agent)
    operator = GpuOperatorSpec.model_construct(
        pools=pools,
        namespace=spec.gpu_stack.namespace,
        chart=spec.charts.gpu_operator.model_copy(update={"values": values}),
        mig_taint_remover_image=spec.gpu_stack.mig_taint_remover_image,
        node_monitoring_agent=True if agent else None,
        catalog=spec.catalog,
    )
    return GpuOperator._from_spec(name, operator, opts, before)
