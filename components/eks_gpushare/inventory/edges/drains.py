"""Disruption budgets let pods go when their node has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.facts.disruption_budgets import lets_go
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.by_value import ByValue
from eks_gpushare.inventory.items import PART_OF_POD, SCALERS, Pointer, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, may_be_same, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

STUCK = rule_of("GPU1195")


@edge(STUCK)
def budgets(inventory: Inventory) -> Iterator[Judgement]:
    """Each against the pods of its cluster that it selects."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        workloads = ByValue(
            (each for each in inventory.of(Workload, cluster) if each.kind != PART_OF_POD),
            lambda workload: [workload.namespace],
        )
        scaled = {
            text(at(pointer.spec, "scaleTargetRef", "name")): _most(pointer)
            for pointer in pointers
            if pointer.kind in SCALERS
        }
        first: dict[int, Pointer] = {}
        with_gpus = {id(workload) for workload, _ in gpu_workloads(inventory, cluster)}
        for pointer in pointers:
            if pointer.kind == "PodDisruptionBudget":
                near = workloads.may_have(pointer.namespace)
                found = [workload for workload in near if _is_for(pointer, workload)]
                is_of_gpus = any(id(workload) in with_gpus for workload in found)
                yield from _budget(pointer, _pods(pointer, found, scaled), is_of_gpus=is_of_gpus)
                sure = [workload for workload in found if _is_surely_for(pointer, workload)]
                twice = next((each for each in sure if id(each) in first), None)
                if twice is not None:
                    other = first[id(twice)]
                    yield _second(pointer, other, twice, is_of_gpus=is_of_gpus)
                first.update({id(workload): pointer for workload in sure})


def _budget(budget: Pointer, pods: int | None, *, is_of_gpus: bool) -> Iterator[Judgement]:
    most, least = (at(budget.spec, key) for key in ("maxUnavailable", "minAvailable"))
    if UNKNOWN in (budget.spec, most, least):
        yield NotSeen(STUCK, budget.source, f"how many pods {budget.source.name} lets go")
    elif lets_go(pods, least, most) is False:
        key, given = ("maxUnavailable", most) if most is not None else ("minAvailable", least)
        counts = lets_go(None, least, most) is None
        of_all = f" of {'one' if pods == 1 else pods}" if counts else ""
        yield Problem(
            STUCK,
            budget.source,
            ("spec", key),
            f"{at_start(budget.source.name)} has {key} {text(given)}{of_all}, so that none of its "
            "pods may be evicted. One must be, or nodes with a pod of it are never drained: "
            "updates of node groups fail, and Karpenter pays on for nodes that it would give back.",
            "Set `maxUnavailable: 1`, and no `minAvailable`.",
            None if is_of_gpus else "info",
        )


def _is_for(budget: Pointer, workload: Workload) -> bool:
    """Whether a budget selects the pods of a workload, or may."""
    return (
        may_be_same(workload.namespace, budget.namespace)
        and selects(at(budget.spec, "selector"), workload.labels) is not False
    )


def _is_surely_for(budget: Pointer, workload: Workload) -> bool:
    """Whether a budget selects the pods of a workload, by a selector that selects some."""
    places = (budget.namespace, workload.namespace)
    selector = at(budget.spec, "selector")
    return (
        UNKNOWN not in places
        and places[0] == places[1]
        and bool(selector)
        and selects(selector, workload.labels) is True
    )


def _second(budget: Pointer, first: Pointer, workload: Workload, *, is_of_gpus: bool) -> Problem:
    """Two budgets of the same pods, of which the API server evicts none.

    https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors
    """
    return Problem(
        STUCK,
        budget.source,
        ("spec", "selector"),
        f"{at_start(budget.source.name)} selects pods of {workload.source.name}, as "
        f"{first.source.name} does: of pods that two budgets select none may be evicted. One must "
        "be, or nodes with a pod of it are never drained.",
        "Select them by one budget alone.",
        None if is_of_gpus else "info",
    )


def _most(scaler: Pointer) -> int | None:
    """The most pods that a scaler makes; None if that is not known."""
    key = "maxReplicaCount" if scaler.kind == "ScaledObject" else "maxReplicas"
    most = at(scaler.spec, key)
    return most if isinstance(most, int) and not isinstance(most, bool) else None


def _pods(
    budget: Pointer, found: Sequence[Workload], scaled: Mapping[Any, int | None]
) -> int | None:
    """How many pods of these it selects at most; None if that is not known."""
    if found and UNKNOWN in scaled:
        return None
    total = 0
    for workload in found:
        unsure = selects(at(budget.spec, "selector"), workload.labels) is None
        if unsure or UNKNOWN in (workload.name, workload.namespace, budget.namespace):
            return None
        name = text(workload.name)
        is_share = str(at(budget.spec, "minAvailable")).endswith("%")
        count = scaled[name] if name in scaled and not is_share else workload.replicas
        if (name in scaled and is_share) or not isinstance(count, int):
            return None
        total += count
    return total or None
