"""Workloads that Kueue manages though they name no queue, in namespaces without one of its default.

Source: "LocalQueueDefaulting" of
https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/setup_default_local_queue/ and
`manageJobsWithoutQueueName` of https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.edges.queues import queue_of
from eks_gpushare.inventory.items import Namespace, Pointer
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.kueue_counting import configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NO_QUEUE: Final = rule_of("GPU1266")
_DEFAULT: Final = "default"
_NAME: Final = "kubernetes.io/metadata.name"
_FRAMEWORKS: Final = {"Job": "batch/job", "Pod": "pod"}
"""Kinds that are what their name says, and how Kueue's configuration calls them."""


@edge(NO_QUEUE)
def default_queues(inventory: Inventory) -> Iterator[Judgement]:
    """Where the configuration is here, and queues of the namespace."""
    for cluster in inventory.clusters():
        config = configuration(inventory, cluster)
        if at(config, "manageJobsWithoutQueueName") is not True or has_unknown(config):
            continue
        queues = [each for each in inventory.of(Pointer, cluster) if each.kind == "LocalQueue"]
        for workload, _ in gpu_workloads(inventory, cluster):
            _, named = queue_of(workload)
            space = workload.namespace
            here = [str(each.name) for each in queues if each.namespace == space]
            if named is not None or space is UNKNOWN or not here or _DEFAULT in here:
                continue
            frameworks = items(at(config, "integrations", "frameworks"))
            if _FRAMEWORKS.get(workload.kind) not in frameworks:
                continue
            if _manages(inventory, cluster, config, space):
                yield Problem(
                    NO_QUEUE,
                    workload.source,
                    ("metadata",),
                    f"{at_start(workload.source.name)} names no LocalQueue, Kueue manages it all "
                    f"the same, and its namespace has none called {_DEFAULT}: Kueue holds it back.",
                    f"Name one that is there: {', '.join(here)}; or make one called {_DEFAULT}.",
                )


def _manages(inventory: Inventory, cluster: str, config: Any, space: str) -> bool:
    """Whether Kueue surely manages what is in a namespace."""
    selector = at(config, "managedJobsNamespaceSelector")
    if selector is None:
        return True
    labels = {
        str(each.name): each.labels
        for each in inventory.of(Namespace, cluster)
        if isinstance(each.labels, dict)
    }
    return space in labels and selects(selector, {**labels[space], _NAME: space}) is True
