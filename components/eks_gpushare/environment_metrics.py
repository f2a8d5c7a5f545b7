"""The metrics of an environment, apart since most stacks have none."""

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.component_specs import EnvironmentSpec, GpuMetricsSpec
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.observability import Observability
from eks_gpushare.gpu_metrics import GpuMetrics


def register_metrics(
    name: str,
    spec: EnvironmentSpec,
    block: Observability,
    refs: ClusterRefs,
    after: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> GpuMetrics:
    """Register exporter, store, rules and boards.

    Args:
        name: Name of the environment.
        spec: The environment.
        block: What is measured.
        refs: Its cluster.
        after: What has to be there before.
        opts: Options that name the parent.
    """
    wired = pulumi.ResourceOptions(providers=[refs.provider], depends_on=after)
    more = {"verifier": spec.verifier} if spec.verifier is not None else {}
    metrics = converted(
        GpuMetricsSpec,
        block,
        pools=dict(spec.pools),
        tenants=dict(spec.tenants or {}),
        gpu_stack=spec.gpu_stack,
        catalog=spec.catalog,
        region=spec.region,
        # Every cluster that a stack makes has the agent; of others nobody here knows.
        node_monitoring_agent=isinstance(spec.cluster, NewCluster),
        exporter_chart=spec.charts.dcgm_exporter or Chart.model_construct(),
        prometheus_chart=spec.charts.prometheus or Chart.model_construct(),
        **more,
    )
    options = pulumi.ResourceOptions.merge(opts, wired)
    return GpuMetrics._from_spec(f"{name}-metrics", metrics, options)
