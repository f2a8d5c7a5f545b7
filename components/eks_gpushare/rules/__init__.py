"""Rules that compare one part of an environment with another, or with the catalog."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from eks_gpushare.config import additions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.sharing import Mig
from eks_gpushare.rules import buying, cluster, images, instances, names, network, sharing, stack
from eks_gpushare.rules.context import Context
from eks_gpushare.rules.partial import certain
from eks_gpushare.sharing.bottlerocket import is_bottlerocket
from eks_gpushare.sharing.labels import OWN_PREFIX
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import At, Code, Finding
    from eks_gpushare.rules.context import PoolRule, StackRule

# Most stacks have no MIG, no Bottlerocket and no values of their own: `check` then starts without
# the modules of the rules about them, which `_stack_rules` and `_pool_rules` bring in.
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
    sharing.enough_replicas,
    sharing.mps_clients,
    sharing.mig_capable,
    sharing.several_shares,
    sharing.advised_replicas,
    sharing.memory_per_share,
    sharing.room_for_shares,
    sharing.toleration_needed,
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
    names.pool_labels,
    names.pool_taints,
)


def _stack_rules(environment: Environment) -> Iterator[StackRule]:
    yield from STACK_RULES
    if environment.gpu_stack.manager != "devicePlugin" or environment.charts.model_fields_set:
        from eks_gpushare.rules import chart_values, charts  # noqa: PLC0415  (few stacks)

        yield from (charts.undone_values, charts.idle_chart, charts.drivers)
        yield chart_values.values_read
    if environment.gpu_stack.mig_taint_remover_image is not None:
        from eks_gpushare.rules import mig_manager  # noqa: PLC0415  (few stacks)

        yield mig_manager.remover_image


def _pool_rules(pool: Pool) -> Iterator[PoolRule]:
    yield from POOL_RULES
    own_taints = any(taint.key.startswith(OWN_PREFIX) for taint in pool.taints)
    if isinstance(pool.sharing, Mig) or own_taints:
        from eks_gpushare.rules import mig, mig_boot, mig_manager  # noqa: PLC0415  (few pools)

        yield from (*mig.POOL_RULES, *mig_boot.POOL_RULES, *mig_manager.POOL_RULES)
    if pool.bottlerocket is not None or is_bottlerocket(pool):
        from eks_gpushare.rules import bottlerocket, bottlerocket_mig  # noqa: PLC0415  (few pools)

        yield from (*bottlerocket.POOL_RULES, *bottlerocket_mig.POOL_RULES)


def all_codes() -> tuple[Code, ...]:
    """Every kind of finding, by number."""
    from eks_gpushare.rules import (  # noqa: PLC0415  (a check asks for few of them)
        bottlerocket,
        bottlerocket_mig,
        chart_values,
        charts,
        mig,
        mig_boot,
        mig_manager,
    )

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
        sharing,
        stack,
    )
    found = [*shape_rules.CODES, additions.INCOMPLETE_TYPE]
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
    for stack_rule in _stack_rules(ctx.environment):
        yield from stack_rule(ctx)
    for name, pool in ctx.environment.pools.items():
        for pool_rule in _pool_rules(pool):
            yield from pool_rule(ctx, name, pool)
