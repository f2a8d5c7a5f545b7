"""The metrics of an environment, apart since most stacks have none."""

from collections.abc import Sequence
from typing import Any

import pulumi

from eks_gpushare.aws.refs import ClusterRefs, CollectedRefs
from eks_gpushare.config.base import converted
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.component_specs import EnvironmentSpec, GpuMetricsSpec
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.observability import Observability
from eks_gpushare.gpu_metrics import GpuMetrics
from eks_gpushare.sharing.exporter import makes_collector

_MOST_SUBNETS = 5
"""`SubnetIds` of a collector, in botocore 1.44.5."""


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
    more: dict[str, Any] = {"verifier": spec.verifier} if spec.verifier is not None else {}
    collected = None
    if makes_collector(block) and refs.cluster_arn is not None:
        # Without these nothing of it is tagged, and no component shows them as a change.
        more["tags"] = dict(spec.tags)
        collected = CollectedRefs(
            refs.cluster_arn, _some_subnets(refs), _as_list(refs.security_group_id)
        )
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
    return GpuMetrics._from_spec(f"{name}-metrics", metrics, collected, options)


def _some_subnets(refs: ClusterRefs) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """Subnets of a cluster, of which a collector takes five."""
    known = pulumi.Output.from_input(refs.subnet_ids)
    return known.apply(lambda ids: [*ids][:_MOST_SUBNETS])


def _as_list(group: pulumi.Input[str] | None) -> list[pulumi.Input[str]]:
    return [] if group is None else [group]
