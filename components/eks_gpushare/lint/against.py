"""Whether workloads in files will run on the pools of a stack: `lint --against STACK`.

Taints, labels, names of resources and quotas are the business of the inventory's own checks, which
see the stack's pools beside what the files say. Here is what only a plan can tell: how many pods
there is room for.

Only what is sure is an error, so room is counted at its most: all nodes that a pool may have, and
of types that differ the one that holds most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.facts.shares import SYSTEM_PODS
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import PART_OF_POD, Workload
from eks_gpushare.inventory.nodes import gpu_nodes
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.scheduling import landing, with_extended_tolerations
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.contracts import judge_contracts
from eks_gpushare.manifests.pod_demand import PodDemand, demand_of
from eks_gpushare.manifests.rules.against import (
    STACK_WITH_ERRORS,
    TOO_LARGE_POD,
    TOO_MANY_PODS,
    TOO_MUCH_TOGETHER,
)
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare.sharing.workloads import asked_share, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.sharing.plan import PoolPlan

_BY_TURNS = ("Job", "CronJob")
"""Kinds whose pods end, so that others come after them."""
_MIB = 2**20
_MILLIS = 1000


class _Place(NamedTuple):
    """Nodes of one type in one pool, where a pod may be."""

    plan: PoolPlan
    type: InstanceType
    pods: int
    """How many such pods fit on a node."""
    lacks: str | None
    """CPU or memory, if that is why none fits."""


class _Wanted(NamedTuple):
    """How much of a resource is wanted of which pools, for as long as they run."""

    called: str
    workload: Workload | None
    """None of one that the stack itself makes."""
    pools: frozenset[str]
    amounts: Mapping[str, int]
    """By resource, of all its pods."""


def judge_against(files: Inventory, stack: Stack) -> Iterator[Judgement]:
    """Whether there is room on the stack's pools for the workloads of files.

    Args:
        files: What the files say.
        stack: What they are held against.
    """
    if stack.errors:
        yield from _errors(stack)
        return
    kinds = gpu_nodes(Inventory(stack.items), "")
    wanted = [*_own_workloads(stack)]
    tenants = stack.environment.tenants if stack.environment is not None else None
    held_back = {space for t in (tenants or {}).values() if t.queue for space in t.every_namespace}
    said: set[int] = set()
    for index, workload in enumerate(files.of(Workload)):
        if workload.kind == PART_OF_POD:
            continue
        demand = demand_of(workload.spec)
        if not demand.of_devices() or workload.replicas is None:
            continue
        places = list(_places(workload, demand, kinds, stack))
        if not places:  # no pool has what it asks for or lets it in, which is said elsewhere
            continue
        if all(place.pods == 0 for place in places):
            yield from _too_large(workload, demand, places)
            continue
        if workload.replicas is UNKNOWN:
            what = f"how many pods {workload.source.name} has, and so whether all have room"
            yield NotSeen(TOO_MANY_PODS, workload.source, what)
            continue
        for problem in _too_many(workload, demand, places):
            said.add(index)
            yield problem
        by_turns = workload.kind in _BY_TURNS or workload.namespace in held_back
        if index not in said and not by_turns:
            wanted.append(_wanted(workload, workload.replicas, demand, places))
    yield from _too_much(wanted, stack)
    yield from judge_contracts(files, stack)


def _errors(stack: Stack) -> Iterator[Problem]:
    """All of them, as `check` tells them."""
    source = Source(stack.name, stack.document, ())
    for error in stack.errors:
        told = f"Of its pools nothing is known: {stack.name} has an error. {error.message}"
        yield Problem(STACK_WITH_ERRORS, source, error.at, told, error.fix)


def _places(
    workload: Workload, demand: PodDemand, kinds: Iterable[NodeKind], stack: Stack
) -> Iterator[_Place]:
    """Where its pods may be, by taints, labels and the resources that they ask for."""
    spec, devices = with_extended_tolerations(workload.spec), demand.of_devices()
    for kind in kinds:
        plan = stack.plans.get(str(kind.nodes.name))
        if plan is None or kind.type is None:
            continue
        node = plan.per_node.get(kind.type.name, {})
        if any(node.get(name, 0) < count for name, count in devices.items()):
            continue
        if landing(spec, kind.nodes.taints, kind.label).lands is not False:
            yield _place(plan, kind.type, node, demand)


def _place(
    plan: PoolPlan, instance_type: InstanceType, node: Mapping[str, int], demand: PodDemand
) -> _Place:
    has = allocatable(instance_type)
    counts = [node[name] // count for name, count in demand.of_devices().items()]
    if has.pods is not None:
        counts.append(has.pods - SYSTEM_PODS)
    lacks = None
    for name, room in (("cpu", has.cpu_millis / _MILLIS), ("memory", has.memory_mib * _MIB)):
        asked = demand.amounts.get(name)
        if asked:
            counts.append(int(room / float(asked)))
            lacks = name if counts[-1] == 0 else lacks
    return _Place(plan, instance_type, min(counts), lacks)


def _too_large(workload: Workload, demand: PodDemand, places: list[_Place]) -> Iterator[Problem]:
    """A pod that fits on no node, for its CPU or memory."""
    lacking = [place for place in places if place.lacks is not None]
    if len(lacking) < len(places):
        return
    largest = max(lacking, key=lambda plan: plan.type.vcpus)
    name = str(largest.lacks)
    has = allocatable(largest.type)
    room = f"{has.cpu_millis}m" if name == "cpu" else f"{has.memory_mib} MiB"
    pools = ", ".join(dict.fromkeys(place.plan.name for place in places))
    yield Problem(
        TOO_LARGE_POD,
        workload.source,
        (*workload.spec_path, *demand.places[name]),
        f"A pod of {workload.source.name} asks for {demand.told(name)}, and the most "
        f"that a node of pools.{pools} has for pods is {room} ({largest.type.name}).",
        f"Request less, or give pools.{largest.plan.name} a larger instance type.",
    )


def _nodes(plan: PoolPlan) -> int | None:
    """Most nodes that a pool may have; None where nothing says."""
    return plan.scaling.most if plan.scaling is not None else plan.sizes.max


def _room(places: Iterable[_Place]) -> int | None:
    """Most pods of a workload that its pools hold; None where nothing says how many."""
    by_pool: dict[str, tuple[PoolPlan, int]] = {}
    for place in places:
        _, most = by_pool.get(place.plan.name, (place.plan, 0))
        by_pool[place.plan.name] = place.plan, max(most, place.pods)
    total = 0
    for plan, pods in by_pool.values():
        if not pods:
            continue
        nodes = _nodes(plan)
        if nodes is None:
            return None
        total += nodes * pods
    return total


def _too_many(workload: Workload, demand: PodDemand, places: list[_Place]) -> Iterator[Problem]:
    room, replicas = _room(places), workload.replicas
    if room is None or not isinstance(replicas, int) or replicas <= room:
        return
    resource, count = next(iter(demand.of_devices().items()))
    pools = {place.plan.name: place.plan for place in places}
    held = ", ".join(f"{_nodes(p)} of pools.{name}" for name, p in pools.items())
    turns = workload.kind in _BY_TURNS
    rest = replicas - room
    yield Problem(
        TOO_MANY_PODS,
        workload.source,
        _replicas_path(workload),
        f"{_called(workload)} has {replicas} pods with {count} of {resource} each; with all "
        f"nodes that the stack allows ({held}) there is room for {room}, and {rest} "
        + _what_then(rest, turns=turns),
        f"Set at most {room}, or raise nodes.max of pools.{next(iter(pools))}.",
        severity="warning" if turns else None,
    )


def _called(workload: Workload) -> str:
    name = workload.source.name
    return f"{name[:1].upper()}{name[1:]}"


def _what_then(pods: int, *, turns: bool) -> str:
    if turns:
        return "waits for its turn." if pods == 1 else "wait for their turn."
    return "stays Pending." if pods == 1 else "stay Pending."


def _replicas_path(workload: Workload) -> tuple[str, ...]:
    return ("spec", "parallelism" if workload.kind in _BY_TURNS else "replicas")


def _wanted(workload: Workload, replicas: int, demand: PodDemand, places: list[_Place]) -> _Wanted:
    pools = frozenset(place.plan.name for place in places if place.pods)
    amounts = {name: n * replicas for name, n in demand.of_devices().items()}
    return _Wanted(workload.source.name, workload, pools, amounts)


def _own_workloads(stack: Stack) -> Iterator[_Wanted]:
    """What the stack's own workloads need at the least."""
    given = stack.environment.workloads if stack.environment is not None else None
    for name, workload in (given or {}).items():
        pools = frozenset(pools_of(workload)).intersection(stack.plans)
        if not pools:
            continue
        first = stack.plans[min(pools)]
        resource = asked_share(workload, first)
        amounts = {resource: workload.shares * workload.replicas.min}
        yield _Wanted(f"the stack's own workload {name}", None, pools, amounts)


def _too_much(wanted: list[_Wanted], stack: Stack) -> Iterator[Problem]:
    """Workloads that fit one by one and not together: of all that may be on no other pools."""
    told: set[str] = set()
    resources = dict.fromkeys(name for ask in wanted for name in ask.amounts)
    for resource in resources:
        asking = [ask for ask in wanted if resource in ask.amounts]
        for pools in sorted({ask.pools for ask in asking}, key=lambda p: (len(p), sorted(p))):
            among = [ask for ask in asking if ask.pools <= pools]
            most = _advertised(resource, pools, stack)
            if resource not in told and most is not None:
                problem = _together(resource, pools, among, most)
                told |= {resource} if problem else set()
                yield from (problem,) if problem else ()


def _advertised(resource: str, pools: Iterable[str], stack: Stack) -> int | None:
    total = 0
    for name in pools:
        plan = stack.plans[name]
        nodes, on_node = _nodes(plan), max(n.get(resource, 0) for n in plan.per_node.values())
        if nodes is None:
            return None
        total += nodes * on_node
    return total


def _together(
    resource: str, pools: Iterable[str], among: list[_Wanted], most: int
) -> Problem | None:
    """The problem of several workloads that want more than there is, at the largest of them."""
    total = sum(ask.amounts[resource] for ask in among)
    of_files = [(ask, ask.workload) for ask in among if ask.workload is not None]
    if len(among) == 1 or not of_files or total <= most:
        return None
    _, workload = max(of_files, key=lambda asked: asked[0].amounts[resource])
    each_one = ", ".join(f"{ask.called} {ask.amounts[resource]}" for ask in among)
    where = ", ".join(f"pools.{name}" for name in sorted(pools))
    return Problem(
        TOO_MUCH_TOGETHER,
        workload.source,
        _replicas_path(workload),
        f"{total} of {resource} are wanted at the same time ({each_one}), and {where} has {most} "
        "with all nodes that the stack allows.",
        f"Run fewer pods, or raise nodes.max of {where}.",
    )
