"""Volcano's jobs, whose pods start together or not at all, against what their queue may have.

Source: `jobMinAvailable` in pkg/webhooks/admission/jobs/mutate/mutate_job.go and the plugins `gang`
and `capacity` of https://github.com/volcano-sh/volcano, November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.edges.amounts import in_all
from eks_gpushare.inventory.items import Quota, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import requests_of
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.admission import MORE_THAN_QUEUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_TASKS: Final = ("spec", "tasks")
_MOST_PODS: Final = 10_000


@edge(MORE_THAN_QUEUE)
def gangs(inventory: Inventory) -> Iterator[Judgement]:
    """What the pods that have to start at once ask for together, of those that ask for least."""
    for cluster in inventory.clusters():
        queues = {
            str(quota.name): quota
            for quota in inventory.of(Quota, cluster)
            if quota.kind == "Queue"
        }
        by_job: dict[int, list[Workload]] = {}
        for workload in inventory.of(Workload, cluster) if queues else ():
            if workload.spec_path[:2] == _TASKS:
                by_job.setdefault(id(workload.source.document), []).append(workload)
        for tasks in by_job.values():
            spec = at(value_of(tasks[0]), "spec")
            queue = queues.get(str(at(spec, "queue")))
            if queue is not None and len(items(at(spec, "tasks"))) == len(tasks):
                yield from _judged(spec, tasks, queue)


def _judged(spec: Any, tasks: Sequence[Workload], queue: Quota) -> Iterator[Problem]:
    job = tasks[0].source
    for resource in dict.fromkeys(each.resource for task in tasks for each in requests_of(task)):
        capability = quantity(str(text(at(queue.hard, resource))))
        pods = _pods(tasks, resource)
        least = at(spec, "minAvailable") or (len(pods) if pods else None)
        if pods is None or capability is None or not isinstance(least, int):
            continue
        wanted = sum(pods[:least])
        if wanted > capability:
            yield Problem(
                MORE_THAN_QUEUE,
                job,
                ("spec", "minAvailable") if at(spec, "minAvailable") else ("spec", "tasks"),
                f"{at_start(job.name)} needs {wanted} of {resource} at once, and "
                f"{queue.source.name} may have {text(at(queue.hard, resource))}.",
                "Lower minAvailable, or raise the queue's capability.",
            )


def _pods(tasks: Sequence[Workload], resource: str) -> list[int] | None:
    """What each pod asks for, the least first; None where that is not known of all."""
    found: list[int] = []
    for task in tasks:
        each = in_all(task, resource, list(requests_of(task)))
        if each is None or not isinstance(task.replicas, int):
            return None
        found += [each] * min(task.replicas, _MOST_PODS)
    return sorted(found)
