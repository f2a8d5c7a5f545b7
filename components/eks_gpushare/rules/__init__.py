"""Rules that compare one part of an environment with another, or with the catalog."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from eks_gpushare.config import additions, codes
from eks_gpushare.config.additions import catalog_of
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
    shares,
    stack,
)
from eks_gpushare.rules.context import Context
from eks_gpushare.rules.partial import certain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.findings import At, Code, Finding
    from eks_gpushare.rules.context import PoolRule, StackRule

STACK_RULES: tuple[StackRule, ...] = (
    cluster.version,
    cluster.endpoint,
    cluster.arns,
    cluster.kubeconfig,
    names.cluster_name,
    network.cidr,
    network.zones,
    network.ids,
    network.idle,
    buying.network_zones,
    buying.system_sizes,
    buying.system_zones,
    buying.existing_subnets,
    images.system_ami,
    names.namespace,
    names.tags,
    stack.pools,
    stack.region,
    stack.any_subnet,
    stack.not_built,
    stack.charts,
    charts.undone_values,
    charts.idle_chart,
    charts.drivers,
    chart_values.values_read,
    mig_manager.remover_image,
    stack.vcpu_demand,
    stack.prices,
)
POOL_RULES: tuple[PoolRule, ...] = (
    names.pool_name,
    instances.known_gpu_types,
    instances.same_gpus,
    instances.still_offered,
    instances.driver_fits,
    instances.ultraserver_limits,
    instances.fractional_gpus,
    shares.enough_replicas,
    shares.mps_clients,
    shares.mig_capable,
    shares.several_shares,
    shares.advised_replicas,
    shares.memory_per_share,
    shares.room_for_shares,
    shares.toleration_needed,
    buying.pool_sizes,
    buying.reservations,
    buying.reservation_place,
    buying.pool_zones,
    buying.sold_so,
    buying.efa,
    buying.placement,
    images.custom_ami,
    images.ami_serves,
    images.ami_version,
    images.disk,
    mig.layout_fits,
    mig.one_profile,
    mig.same_meaning,
    mig.mig_driver,
    mig.proven_geometry,
    mig.slices_used,
    mig.mig_toleration,
    mig_boot.boot_provisioner,
    mig_boot.boot_driver,
    mig_boot.boot_counts,
    mig_boot.boot_size,
    mig_boot.boot_reboots,
    bottlerocket.bottlerocket_block,
    bottlerocket.bottlerocket_release,
    bottlerocket.bottlerocket_mps,
    bottlerocket_mig.bottlerocket_mig,
    bottlerocket_mig.bottlerocket_layout,
    bottlerocket.bottlerocket_driver,
    bottlerocket.bottlerocket_user_data,
    mig_manager.needs_operator,
    mig_manager.stops_kubelet,
    mig_manager.own_startup_taint,
    mig_manager.reboot_repaired,
    mig_manager.foreign_nodes,
    names.pool_labels,
    names.pool_taints,
)


def all_codes() -> tuple[Code, ...]:
    """Every kind of finding, by number."""
    modules = (
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
        shares,
        stack,
    )
    found = [*codes.CODES, additions.INCOMPLETE_TYPE]
    found += [code for module in modules for code in module.CODES]
    return tuple(sorted(found))


def check_environment(
    environment: Environment,
    *,
    region: str | None,
    today: date | None = None,
    removed: tuple[At, ...] = (),
) -> list[Finding]:
    """Everything the rules find in an environment.

    Args:
        environment: The environment, as far as it could be read.
        region: AWS region of the stack, None if it does not say.
        today: For versions that end. Default: today.
        removed: Places whose values could not be read. Only errors elsewhere are reported then:
            the rest would be about defaults that nobody asked for.
    """
    catalog, found = catalog_of(environment.catalog, region)
    ctx = Context(environment, catalog, region, today or date.today())  # noqa: DTZ011  (a calendar day)
    found += _run(ctx)
    return certain(found, removed) if removed else found


def _run(ctx: Context) -> Iterator[Finding]:
    for stack_rule in STACK_RULES:
        yield from stack_rule(ctx)
    for name, pool in ctx.environment.pools.items():
        for pool_rule in POOL_RULES:
            yield from pool_rule(ctx, name, pool)
