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
    from collections.abc import Iterator, Sequence

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
        scaled = frozenset(
            text(at(pointer.spec, "scaleTargetRef", "name"))
            for pointer in pointers
            if pointer.kind in SCALERS
        )
        with_gpus = {id(workload) for workload, _ in gpu_workloads(inventory, cluster)}
        for pointer in pointers:
            if pointer.kind == "PodDisruptionBudget":
                near = workloads.may_have(pointer.namespace)
                found = [workload for workload in near if _is_for(pointer, workload)]
                is_of_gpus = any(id(workload) in with_gpus for workload in found)
                yield from _budget(pointer, _pods(pointer, found, scaled), is_of_gpus=is_of_gpus)


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


def _pods(budget: Pointer, found: Sequence[Workload], scaled: frozenset[Any]) -> int | None:
    """How many pods of these it selects; None if that is not known, or changes with a scaler."""
    if found and UNKNOWN in scaled:
        return None
    total = 0
    for workload in found:
        unsure = selects(at(budget.spec, "selector"), workload.labels) is None
        if unsure or UNKNOWN in (workload.name, workload.namespace, budget.namespace):
            return None
        if text(workload.name) in scaled or not isinstance(workload.replicas, int):
            return None
        total += workload.replicas
    return total or None
