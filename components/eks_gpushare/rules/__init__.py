"""Rules that compare one part of an environment with another, or with the catalog."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from eks_gpushare.config import additions, mig_additions
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.rules import (
    bottlerocket,
    bottlerocket_mig,
    capacity,
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
    placement,
    sharing,
    sizes,
    stack,
)
from eks_gpushare.rules.context import Context, catalog_with
from eks_gpushare.rules.registry import Runs, Scope, checks_in, until_unread
from eks_gpushare.validation import shape_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.findings.rule import Rule

_MODULES = (
    *(cluster, network, instances, sharing, mig, mig_boot, mig_manager),
    *(bottlerocket, bottlerocket_mig, sizes, placement, capacity, images, names, stack),
    *(charts, chart_values),
)
CHECKS = checks_in(*_MODULES)
"""Every check, of stacks and of components that stand alone."""


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by number."""
    return rules_in(shape_rules, additions, mig_additions, *_MODULES)


def check_environment(
    environment: Environment,
    *,
    region: str | None,
    today: date | None = None,
    partly_read: bool = False,
) -> list[Finding]:
    """Everything the rules find in an environment.

    Args:
        environment: The environment, as far as it could be read.
        region: AWS region of the stack, None if it does not say.
        today: For versions that end. Default: today.
        partly_read: Whether something could not be read. Only errors are reported then: the rest
            is worth knowing once there is a stack.
    """
    found: list[Finding] = []
    catalog = catalog_with(environment, region, found)
    ctx = Context(environment, catalog, region, today or date.today())  # noqa: DTZ011  (a calendar day)
    found += _of_parts(ctx)
    found += until_unread(_of_pools, ctx)
    return [each for each in found if each.severity == "error"] if partly_read else found


def _of_parts(ctx: Context) -> Iterator[Finding]:
    for each in CHECKS:
        if each.scope is not Scope.POOL and each.runs is not Runs.ALONE:
            yield from each(ctx)


def _of_pools(ctx: Context) -> Iterator[Finding]:
    for name, pool in ctx.environment.pools.items():
        for each in CHECKS:
            if each.scope is Scope.POOL and each.runs is not Runs.ALONE:
                yield from each(ctx, name, pool)
