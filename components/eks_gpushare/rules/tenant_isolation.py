"""Whether the pools of tenants keep them as far apart as their isolation says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.isolation import keeps_apart
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.rules.tenants import countable, sure_of
from eks_gpushare.sharing.turns import turns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

APART = rule_of("GPU871")


@check(Scope.TENANTS, APART)
def apart(ctx: Context) -> Iterator[Finding]:
    tenants, sure = ctx.environment.tenants or {}, sure_of(ctx)
    has = {pool: dict(counts) for pool, (_, counts) in sure.items()}
    for pool, (plan, here) in sure.items():
        for name, counts in here.items():
            beside = [other for other in here if other != name]
            lent = tenants[name].pools[pool].maximum
            reached = {**counts, **((lent and countable(lent, plan)) or {})}
            for resource in reached:
                strays = [] if beside else _strays(tenants, name, resource, has)
                turns = turns_of(plan.pool, resource)
                if not beside + strays or keeps_apart(tenants[name].isolation, turns):
                    continue
                how = "MPS" if turns == "mps" else "time slicing"
                what = "faults of" if tenants[name].isolation == "fault" else "memory taken by"
                listed, may = ", ".join(beside or strays), ""
                fix = "Give it a pool of its own, MIG devices or whole GPUs, or less isolation."
                if strays:
                    may = "may "
                    fix = f"Remove admission: false of {listed}, or give the shares another name."
                yield APART.finding(
                    ("tenants", name, "isolation"),
                    f"On {pool} pods of {name} {may}share GPUs by {how} with those of {listed}, "
                    f"and {what} neighbours reach them.",
                    fix,
                )
                break


def _strays(
    tenants: Mapping[str, Tenant],
    name: str,
    resource: str,
    has: Mapping[str, Mapping[str, Mapping[str, int]]],
) -> list[str]:
    """Others that only a quota holds, which knows names of resources and no pools."""
    asking = {other for of_pool in has.values() for other in of_pool if resource in of_pool[other]}
    return [
        other
        for other in tenants
        if other in asking - {name} and not tenants[other].admission and not tenants[other].queue
    ]
