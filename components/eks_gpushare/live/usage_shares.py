"""Who holds which shares of a stack, by an answer of Prometheus to the query of docs/cost.md.

Series with a namespace are what its pods hold; those without one are what nodes advertise, by which
they are counted. Names of labels are those that kube-state-metrics writes, or short ones for
whoever has recording rules of their own.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.live.held_shares import capacity_of, observed
from eks_gpushare.live.measured_use import MeasuredUse, is_measured
from eks_gpushare.live.nodes import counted_names
from eks_gpushare.live.usage_answer import UsageAnswerError
from eks_gpushare.live.usage_labels import CAPACITY, NAMESPACE, POOL, TYPE, first, sanitized
from eks_gpushare.sharing.cost_split import PodShares
from eks_gpushare.sharing.paid_nodes import ObservedNodes, UseMoment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.usage_answer import UsageAnswer, UsageSeries
    from eks_gpushare.sharing.plan import PoolPlan

_TOLD: Final = 5


class _Told(NamedTuple):
    """A series whose pool is known."""

    pool: str
    node: str
    namespace: str
    resource: str
    """By the pool's own name, if it has such a one."""
    series: UsageSeries


def usage_shares(
    answer: UsageAnswer, stack: Stack, nodes: Sequence[LiveNode] | None = None
) -> list[UseMoment]:
    """The nodes of a stack and who held what of them, at each time of an answer.

    Times between which nothing changed are one, of a greater part.

    Args:
        answer: The answer.
        stack: The stack.
        nodes: The nodes of its cluster, if they are known; then those of the answer do not count.

    Raises:
        UsageAnswerError: If it is of another cluster, or its labels do not say what is needed.
    """
    of_nodes = {node.name: node for node in nodes or ()}
    told = _told(answer, of_nodes, stack.plans)
    use = MeasuredUse(answer, stack, {name: node.pool for name, node in of_nodes.items()})
    _refuse_another_cluster(answer, stack, told, of_nodes)
    mine = [each for each in told if each.pool in stack.plans]
    counted = [each for each in mine if each.node and not each.namespace]
    notes = [f"Prometheus says beside: {warning}" for warning in answer.warnings]
    notes += _others(told, stack)
    notes += use.notes({each.pool for each in mine if each.namespace})
    there: tuple[ObservedNodes, ...] | None = None
    if nodes is not None:
        types = {name: node.type_name for name, node in of_nodes.items()}
        there = tuple(observed(node for node in nodes if node.pool in stack.plans))
    else:
        alike = _alike(counted, stack.plans)
        types = {name: key[1] for key, names in alike.items() for name in names}
        notes += _of_no_type(counted, stack.plans)
        if not counted:
            notes.append(f"{answer.file} has no nodes: those that the stack keeps are counted.")
        elif lacking := {each.pool for each in mine} - {each.pool for each in counted}:
            raise UsageAnswerError(
                f"{answer.file}: pods hold shares of {', '.join(sorted(lacking))}, of which it has "
                "no nodes. Take the query of docs/cost.md, whose second half counts them."
            )
    moments: dict[tuple[Fraction | None, ...], list[float]] = defaultdict(list)
    for time in answer.times:
        seen = (each.series.points.get(time) for each in mine)
        moments[*seen, *use.points(time)].append(time)
    return [
        UseMoment(
            there if there or not counted else tuple(_observed(counted, stack.plans, times[0])),
            tuple(_holdings(mine, types, times[0], use)),
            tuple(notes),
            Fraction(len(times), len(answer.times)),
        )
        for times in moments.values()
    ]


def _holdings(
    told: Iterable[_Told], types: Mapping[str, str], time: float, use: MeasuredUse
) -> Iterator[PodShares]:
    held = [x for x in told if x.namespace and x.series.points.get(time)]
    holders: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for each in held:
        holders[each.pool, each.node][each.namespace] = None
    payers = {key: use.payers(*key, tuple(spaces), time) for key, spaces in holders.items()}
    for each in held:
        yield PodShares(
            each.pool,
            each.namespace,
            each.resource,
            each.series.points[time],
            types.get(each.node, ""),
            payers[each.pool, each.node],
        )


def _told(
    answer: UsageAnswer, nodes: Mapping[str, LiveNode], plans: Mapping[str, PoolPlan]
) -> list[_Told]:
    """The series with their pools.

    Raises:
        UsageAnswerError: If one says too little.
    """
    found: list[_Told] = []
    lacking: list[str] = []
    names = {pool: _names(plan) for pool, plan in plans.items()}
    for series in (each for each in answer.series if not is_measured(each)):
        labels = series.labels
        node = labels.get("node", "")
        pool = first(labels, POOL) or (nodes[node].pool if node in nodes else "")
        namespace, resource = first(labels, NAMESPACE), labels.get("resource", "")
        if (pool or (nodes and node)) and resource:
            own = names.get(pool, {}).get(sanitized(resource), resource)
            found.append(_Told(pool, node, namespace, own, series))
        else:
            lacking.append(f"{series} names no {'resource' if pool else 'pool'}.")
    if lacking:
        more = f" {len(lacking) - _TOLD} more are like that." if len(lacking) > _TOLD else ""
        raise UsageAnswerError(
            f"{answer.file}: {' '.join(lacking[:_TOLD])}{more} Each series needs the labels "
            f"resource and {POOL[1]} (or {POOL[0]}), those of pods namespace too: take the query "
            "of docs/cost.md."
        )
    return found


def _refuse_another_cluster(
    answer: UsageAnswer, stack: Stack, told: Sequence[_Told], nodes: Mapping[str, LiveNode]
) -> None:
    if any(each.pool in stack.plans for each in told) and (
        not nodes or any(not each.node or each.node in nodes for each in told)
    ):
        return
    if nodes:
        names = {each.node for each in told}
        raise UsageAnswerError(
            f"{answer.file} is of another cluster: none of its nodes ({counted_names(names)}) is "
            f"among those of the cluster ({counted_names(nodes)}). Query the Prometheus of this "
            "one."
        )
    pools = ", ".join(sorted({each.pool for each in told}))
    raise UsageAnswerError(
        f"{answer.file} is of another cluster: its pools are {pools}, and those of {stack.name} "
        f"{', '.join(stack.plans)}. Query the Prometheus of the stack's cluster."
    )


def _others(told: Iterable[_Told], stack: Stack) -> Iterator[str]:
    others = {each.pool or f"the node {each.node}" for each in told if each.pool not in stack.plans}
    if others:
        yield f"Not counted is what the stack does not declare: {', '.join(sorted(others))}."


def _alike(
    told: Iterable[_Told], plans: Mapping[str, PoolPlan]
) -> dict[tuple[str, str, str | None], dict[str, list[_Told]]]:
    """Series of nodes that cost the same together, by pool, type and how they were bought."""
    by_node: dict[tuple[str, str], list[_Told]] = defaultdict(list)
    for each in told:
        by_node[each.pool, each.node].append(each)
    found: dict[tuple[str, str, str | None], dict[str, list[_Told]]] = defaultdict(dict)
    for (pool, node), own in by_node.items():
        labels = {key: value for each in own for key, value in each.series.labels.items()}
        capacity = capacity_of(first(labels, CAPACITY))
        found[pool, first(labels, TYPE) or _dearest(plans[pool]), capacity][node] = own
    return found


def _observed(
    told: Iterable[_Told], plans: Mapping[str, PoolPlan], time: float
) -> Iterator[ObservedNodes]:
    """Nodes that there were at a time."""
    then = [each for each in told if time in each.series.points]
    for key, nodes in _alike(then, plans).items():
        advertised: dict[str, Fraction] = defaultdict(Fraction)
        for each in (each for own in nodes.values() for each in own):
            advertised[each.resource] += each.series.points[time]
        yield ObservedNodes(*key, Fraction(len(nodes)), dict(advertised))


def _of_no_type(told: Iterable[_Told], plans: Mapping[str, PoolPlan]) -> Iterator[str]:
    """Pools of several types whose nodes do not say theirs."""
    silent = {each.pool for each in told} - {
        each.pool for each in told if first(each.series.labels, TYPE)
    }
    for pool in sorted(silent):
        if len(plans[pool].pool.instance_types) > 1:
            dearest = _dearest(plans[pool])
            yield f"{pool}: its nodes do not say their type, so that each is {dearest}."


def _dearest(plan: PoolPlan) -> str:
    """The type that counts where a node does not say its own."""
    prices = plan.cost.per_node if plan.cost is not None else {}
    return max(plan.pool.instance_types, key=lambda name: prices.get(name, 0.0))


def _names(plan: PoolPlan) -> dict[str, str]:
    """The resources of a pool by what kube-state-metrics writes of them."""
    return {sanitized(name): name for node in plan.per_node.values() for name in node}
