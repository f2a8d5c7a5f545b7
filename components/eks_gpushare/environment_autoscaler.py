"""The Cluster Autoscaler of an environment, apart since most stacks have none."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from eks_gpushare.aws.refs import ClusterRefs
from eks_gpushare.cluster_autoscaler import ClusterAutoscaler, Groups
from eks_gpushare.config.autoscaling import ClusterAutoscaler as Block
from eks_gpushare.config.base import converted
from eks_gpushare.config.component_specs import ClusterAutoscalerSpec, EnvironmentSpec
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.pools import NodeCounts, Pool
from eks_gpushare.gpu_pool import GpuPool
from eks_gpushare.in_cluster.waiting_pods import tell_what_pods_wait_for
from eks_gpushare.sharing.cluster_autoscaler import (
    scaled_by_it,
    startup_taint_keys,
    status_taint_keys,
)
from eks_gpushare.sharing.nodes import sizes


def register_cluster_autoscaler(
    name: str,
    spec: EnvironmentSpec,
    block: Block,
    refs: ClusterRefs,
    nodes: Sequence[pulumi.Resource],
    roles: Mapping[str, Any],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Register Cluster Autoscaler if there are pools whose size it decides.

    It depends on all nodes: it runs on those without GPUs, and has to be gone before it could add
    nodes to a group that is being deleted.

    Args:
        name: Name of the environment.
        spec: The environment.
        block: What it says of Cluster Autoscaler.
        refs: Its cluster.
        nodes: Its nodes, the pools among them.
        roles: What all roles of the environment have in common.
        opts: Options that name the parent.

    Returns:
        Cluster Autoscaler, or nothing.
    """
    scaled = {called: pool for called, pool in spec.pools.items() if scaled_by_it(pool)}
    groups = {node._spec.pool: node for node in nodes if isinstance(node, GpuPool)}
    if not scaled or refs.cluster_name is None or refs.version is None:
        return []
    names = sorted(scaled)
    made = ClusterAutoscaler._from_spec(
        f"{name}-cluster-autoscaler",
        converted(
            ClusterAutoscalerSpec,
            block,
            version=refs.version,
            pools=tuple(names),
            nodes=tuple(_bounds(scaled[called]) for called in names),
            startup_taints=startup_taint_keys(scaled.values()),
            status_taints=status_taint_keys(scaled.values()),
            node_templates=tuple(groups[pool].node_template for pool in names),
            region=spec.region,
            chart=spec.charts.cluster_autoscaler or Chart.model_construct(),
            tags=dict(spec.tags),
            **roles,
        ),
        refs.cluster_name,
        Groups(
            [groups[called].node_group_name for called in names],
            [groups[called].scaling_group_name for called in names],
        ),
        pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(providers=[refs.provider], depends_on=[*nodes])
        ),
    )
    tell_what_pods_wait_for(made, made._release, made.namespace, refs.kubeconfig, None)
    return [made]


def _bounds(pool: Pool) -> NodeCounts:
    """How many nodes it may have; how many at the start is no business of an autoscaler's."""
    size = sizes(pool.nodes)
    return NodeCounts(min=size.min, max=size.max)
