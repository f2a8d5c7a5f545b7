"""What the nodes of a stack cost, by who has them: as declared, or as they are used."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from eks_gpushare.sharing.cost_split import USES, average_lines, average_nodes, split_cost
from eks_gpushare.sharing.cost_table import CostTable, priced
from eks_gpushare.sharing.paid_nodes import Prices, UseMoment
from eks_gpushare.sharing.tenants import contracts, owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.sharing.cost_split import CostLine, PaidNodes, PodShares
    from eks_gpushare.sharing.paid_nodes import SplitBy
    from eks_gpushare.sharing.plan import PoolPlan


def stack_cost(
    environment: Environment,
    plans: Mapping[str, PoolPlan],
    catalog: Catalog,
    region: str | None,
    *,
    split: SplitBy = "share",
    held: Sequence[UseMoment] = (),
) -> CostTable:
    """What a stack's nodes cost, and whose it is.

    Args:
        environment: A stack that the rules have accepted.
        plans: The plans of its pools, by name.
        catalog: Where instance types are looked up, with what the stack adds.
        region: Where it is; without it no price is known.
        split: By what the price of a node is divided among the shares on it.
        held: What there is of it, and who holds it, at moments whose parts add up to 1. Default:
            the nodes that it keeps, and nobody.

    Raises:
        SplitError: If prices cannot be divided so.
    """
    prices = Prices(plans, catalog, region, split)
    tenants = environment.tenants or {}
    whose = owners(tenants)
    guarantees = {(one.tenant, one.pool): one.guaranteed for one in contracts(tenants, plans)}
    every_node: list[tuple[Fraction, PaidNodes]] = []
    every_line: list[tuple[Fraction, CostLine]] = []
    unknown: dict[str, None] = {}
    notes: dict[str, None] = {}
    for moment in held or (UseMoment(None, ()),):
        seen = moment.nodes
        nodes, why = prices.declared() if seen is None else prices.observed(seen)
        lines = split_cost(nodes, moment.holdings, whose, guarantees)
        every_node += ((moment.part, each) for each in nodes)
        every_line += ((moment.part, line) for line in lines)
        unknown |= dict.fromkeys(why)
        notes |= dict.fromkeys(
            [
                *moment.notes,
                *_other_types(nodes, plans),
                *_unpriced(nodes, moment.holdings),
                *_beyond(nodes, moment.holdings),
            ]
        )
    holdings = [each for moment in held for each in moment.holdings]
    pools = {name: at for at, name in enumerate(plans)}
    return CostTable(
        tuple(sorted(average_nodes(every_node), key=lambda each: pools[each.pool])),
        priced(sorted(average_lines(every_line), key=_order(pools, [*tenants]))),
        split,
        {name: tenant.cost.center for name, tenant in tenants.items() if tenant.cost},
        tuple(unknown),
        (*notes, *(_of_no_tenant(holdings, whose) if tenants else ())),
    )


def _order(pools: Mapping[str, int], tenants: Sequence[str]) -> Callable[[CostLine], Any]:
    """Lines by pool and tenant as the stack has them, the platform last; then by kind and use."""
    places = {name: at for at, name in enumerate(tenants)}
    return lambda line: (
        pools[line.pool],
        places.get(line.tenant or "", len(places)),
        line.resource is None,
        line.resource or "",
        USES.index(line.use),
        line.namespace or "",
    )


def _unpriced(nodes: Sequence[PaidNodes], holdings: Iterable[PodShares]) -> Iterator[str]:
    """What pods hold that the nodes of the pool do not have, so that it has no price."""
    pools = {each.pool for each in nodes if each.number}
    known = {(each.pool, name) for each in nodes for name in each.parts}
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for each in holdings:
        if each.pool in pools and (each.pool, each.resource) not in known and each.shares:
            found[each.pool, each.resource][each.namespace] = None
    for (pool, resource), spaces in found.items():
        yield (
            f"{pool} has no {resource}, which pods of {', '.join(spaces)} hold there: what they "
            "are on counts as idle. eks-gpushare verify says what is wrong."
        )


def _other_types(nodes: Iterable[PaidNodes], plans: Mapping[str, PoolPlan]) -> Iterator[str]:
    """Nodes of types that their pool is not to have, as of another cluster or of before an edit."""
    for each in nodes:
        named = plans[each.pool].pool.instance_types
        if each.instance_type not in named:
            yield (
                f"{each.pool} has nodes of {each.instance_type}, and the stack file names "
                f"{', '.join(named)} for it: they are of before an edit, or of another cluster."
            )


def _beyond(nodes: Sequence[PaidNodes], holdings: Iterable[PodShares]) -> Iterator[str]:
    """What pods hold beyond all that nodes have of it, as where a query counts a pod twice."""
    there: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for node in nodes:
        for name, shares in node.offered.items():
            there[node.pool, name] += shares
    held: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for holding in holdings:
        held[holding.pool, holding.resource] += holding.shares
    for (pool, name), shares in there.items():
        if held[pool, name] > shares:
            yield (
                f"Pods of {pool} hold {float(held[pool, name]):g} {name}, and its nodes have "
                f"{float(shares):g}: they divide what there is. Two scrapes of one "
                "kube-state-metrics count each pod twice; so do pods on GPUs that have gone."
            )


def _of_no_tenant(holdings: Iterable[PodShares], whose: Mapping[str, str]) -> Iterator[str]:
    spaces = sorted({each.namespace for each in holdings if each.shares} - {*whose})
    if spaces:
        yield f"Of no tenant, and so the platform's, is what pods of {', '.join(spaces)} hold."
