"""The rules for one part alone, as a component that is used alone wants them.

What such a component is given by its user (a network, subnets, a cluster) is not looked at; places
are those of the component's own arguments.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.cluster import ClusterByName, ExistingCluster, NewCluster
from eks_gpushare.config.environment import Charts, Environment, GpuStack
from eks_gpushare.findings.finding import dotted, finding
from eks_gpushare.rules import (
    bottlerocket,
    bottlerocket_mig,
    buying,
    chart_values,
    charts,
    cluster,
    images,
    instances,
    mig,
    mig_boot,
    mig_manager,
    names,
    network,
    sharing,
    stack,
)
from eks_gpushare.rules.context import Context

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from eks_gpushare.config.component_specs import DevicePluginSpec, GpuOperatorSpec
    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.network import NewNetwork
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import PoolRule, StackRule

_ELSEWHERE = ExistingCluster.model_construct(
    existing=ClusterByName.model_construct(name="elsewhere")
)
_POOL_RULES: tuple[PoolRule, ...] = (
    names.pool_name,
    instances.known_gpu_types,
    instances.same_gpus,
    instances.still_offered,
    instances.driver_fits,
    instances.ultraserver_limits,
    sharing.enough_replicas,
    sharing.mps_clients,
    sharing.mig_capable,
    sharing.several_shares,
    sharing.room_for_shares,
    buying.pool_sizes,
    buying.reservations,
    buying.elsewhere_placed,
    buying.sold_so,
    buying.efa,
    images.custom_ami,
    images.ami_serves,
    images.disk,
    mig.layout_fits,
    mig.one_profile,
    mig.mig_driver,
    mig_boot.boot_driver,
    mig_boot.boot_size,
    bottlerocket.bottlerocket_block,
    bottlerocket.bottlerocket_release,
    bottlerocket.bottlerocket_mps,
    bottlerocket_mig.bottlerocket_mig,
    bottlerocket_mig.bottlerocket_layout,
    mig_manager.stops_kubelet,
    mig_manager.own_startup_taint,
    mig_manager.reboot_repaired,
    mig_manager.freed_elsewhere,
    names.pool_labels,
    names.pool_taints,
)


_CHART_RULES: tuple[StackRule, ...] = (
    names.namespace,
    stack.charts,
    charts.undone_values,
    chart_values.values_read,
)
_OPERATOR_RULES: tuple[StackRule, ...] = (
    *_CHART_RULES,
    charts.drivers,
    mig_manager.remover_image,
)


def _same_gpus(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    """GPU103, where the types of a pool make its configuration: a MIG layout names profiles."""
    if pool.sharing.mode == "mig":
        yield from instances.same_gpus(ctx, name, pool)


_SHARING_RULES: tuple[PoolRule, ...] = (
    names.pool_name,
    instances.known_gpu_types,
    sharing.enough_replicas,
    sharing.mps_clients,
    sharing.mig_capable,
    mig.layout_fits,
    mig.one_profile,
    mig.same_meaning,
    _same_gpus,
    mig_manager.own_startup_taint,
)
"""What makes a pool's configuration, wherever its nodes come from."""
_PLUGIN_POOL_RULES: tuple[PoolRule, ...] = (*_SHARING_RULES, mig_manager.needs_operator_too)
_OPERATOR_POOL_RULES: tuple[PoolRule, ...] = (
    *_SHARING_RULES,
    bottlerocket.bottlerocket_block,
    bottlerocket_mig.bottlerocket_mig,
)


def check_pool(name: str, pool: Pool, catalog: Catalog | None = None) -> list[Finding]:
    """Findings about one pool, wherever its nodes will be.

    Args:
        name: The pool's name.
        pool: The pool.
        catalog: Where instance types are looked up. Default: the package's own.
    """
    environment = Environment.model_construct(cluster=_ELSEWHERE, pools={name: pool})
    ctx = Context(environment, catalog or Catalog(), None, _today())
    found = [f for rule in _POOL_RULES for f in rule(ctx, name, pool)]
    found += stack.not_built(ctx)
    return list(_within(found, 2))


def check_cluster(spec: NewCluster) -> list[Finding]:
    """Findings about a new cluster."""
    environment = Environment.model_construct(cluster=spec, pools={})
    ctx = Context(environment, Catalog(), None, _today())
    rules = (cluster.version, cluster.endpoint, cluster.arns, names.cluster_name)
    return list(_within((f for rule in rules for f in rule(ctx)), 1))


_ANY_CLUSTER = NewCluster.model_construct(name="any", version="")


def check_network(spec: NewNetwork) -> list[Finding]:
    """Findings about a new network; its region is that of its first zone."""
    environment = Environment.model_construct(cluster=_ANY_CLUSTER, network=spec, pools={})
    zones = spec.zones if isinstance(spec.zones, tuple) else ()
    region = zones[0][:-1] or "us-west-2" if zones else None
    ctx = Context(environment, Catalog(), region, _today())
    rules = (network.cidr, network.zones, buying.network_zones)
    return list(_within((f for rule in rules for f in rule(ctx)), 1))


def check_system_nodes(spec: SystemNodes) -> list[Finding]:
    """Findings about system nodes."""
    found = list(buying.size_order(("system", "nodes"), spec.nodes))
    if spec.zones is not None:
        message = "The subnets of nodes that are used alone are given by their program."
        at = ("system", "zones")
        found.append(finding(buying.SUBNETS, at, message, "Use subnet_ids alone."))
    return list(_within(found, 1))


def _today() -> date:
    return date.today()  # noqa: DTZ011  (support ends on a calendar day)


def _within(found: Iterable[Finding], depth: int) -> Iterator[Finding]:
    """The findings with their places below the part itself."""
    for each in found:
        at = each.at[depth:]
        yield replace(each, at=at, path=dotted(at))


def check_device_plugin(
    spec: DevicePluginSpec, checked_before: Collection[str] = ()
) -> list[Finding]:
    """Findings about the device plugin and the sharing of the pools it serves.

    Args:
        spec: The device plugin.
        checked_before: Names of pools that are right by themselves, whatever serves them.
    """
    environment = Environment.model_construct(
        cluster=_ELSEWHERE,
        pools=spec.pools,
        charts=Charts.model_construct(device_plugin=spec.chart),
        gpu_stack=GpuStack.model_construct(namespace=spec.namespace),
    )
    catalog, found = catalog_of(spec.catalog, None)
    ctx = Context(environment, catalog, None, _today())
    found += [_renamed(each) for rule in _CHART_RULES for each in rule(ctx)]
    for name, pool in spec.pools.items():
        rules = (mig_manager.needs_operator_too,) if name in checked_before else _PLUGIN_POOL_RULES
        found += [f for rule in rules for f in rule(ctx, name, pool)]
    return found


def check_gpu_operator(
    spec: GpuOperatorSpec, checked_before: Collection[str] = ()
) -> list[Finding]:
    """Findings about the GPU Operator and the sharing of the pools it serves.

    Args:
        spec: The operator.
        checked_before: Names of pools that are right by themselves, whatever serves them.
    """
    environment = Environment.model_construct(
        cluster=_ELSEWHERE,
        pools=spec.pools,
        charts=Charts.model_construct(gpu_operator=spec.chart),
        gpu_stack=GpuStack.model_construct(
            manager="gpuOperator",
            namespace=spec.namespace,
            mig_taint_remover_image=spec.mig_taint_remover_image,
        ),
    )
    catalog, found = catalog_of(spec.catalog, None)
    ctx = Context(environment, catalog, None, _today())
    ruled = [_renamed(each) for rule in _OPERATOR_RULES for each in rule(ctx)]
    for name, pool in spec.pools.items():
        rules = (
            (bottlerocket.bottlerocket_block,) if name in checked_before else _OPERATOR_POOL_RULES
        )
        ruled += [f for rule in rules for f in rule(ctx, name, pool)]
    return [*found, *ruled]


def _renamed(found: Finding) -> Finding:
    """What is `charts.devicePlugin` and `gpuStack.namespace` in a stack file has no block here."""
    if found.at[0] == "pools":
        return found
    cut = ("chart", *found.at[2:]) if found.at[0] == "charts" else found.at[1:]
    return replace(found, at=cut, path=dotted(cut))
