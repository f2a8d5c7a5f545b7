"""Workloads that Kueue manages though they name no queue, and those that name one in vain.

Source: "LocalQueueDefaulting" of
https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/setup_default_local_queue/ and
`manageJobsWithoutQueueName` of https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/;
November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.edges.queues import framework_of, queue_of
from eks_gpushare.inventory.items import Namespace, Pointer, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.kueue_counting import configuration
from eks_gpushare.manifests.placeholders import without_placeholders
from eks_gpushare.manifests.rules.admission import NOT_MANAGED
from eks_gpushare.sharing.kueue import LOCAL_QUEUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NO_QUEUE: Final = rule_of("GPU1266")
_NAME: Final = "kubernetes.io/metadata.name"
_EXTERNAL: Final = ("integrations", "externalFrameworks")
_PODS: Final = "pod"
"""By which pods are managed that their own template gives a queue:
https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/."""
_BY_PARTS: Final = {"ray.io/rayservice": "ray.io/raycluster"}
"""Kinds that are managed by what is made of them, which gets their label:
https://kueue.sigs.k8s.io/docs/tasks/run/rayservices/."""
_PLAIN: Final = ("Job", "Pod")
"""Kinds that nothing else makes where they stand in a file."""


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
            if named is not None or space is UNKNOWN or not here or LOCAL_QUEUE in here:
                continue
            frameworks = items(at(config, "integrations", "frameworks"))
            if workload.kind not in _PLAIN or framework_of(workload) not in frameworks:
                continue
            if _manages(inventory, cluster, config, space):
                yield Problem(
                    NO_QUEUE,
                    workload.source,
                    ("metadata",),
                    f"{at_start(workload.source.name)} names no LocalQueue, Kueue manages it all "
                    f"the same, and its namespace has none called {LOCAL_QUEUE}: Kueue holds it "
                    "back.",
                    f"Name one that is there: {', '.join(here)}; or make one called {LOCAL_QUEUE}.",
                )


@edge(NOT_MANAGED)
def in_vain(inventory: Inventory) -> Iterator[Judgement]:
    """Workloads of kinds that the configuration, which lists others, leaves out."""
    for cluster in inventory.clusters():
        config = configuration(inventory, cluster)
        listed = at(config, "integrations", "frameworks")
        others = {str(each).partition(".")[0] for each in items(at(config, *_EXTERNAL))}
        if not items(listed) or has_unknown(without_placeholders(listed)):
            continue
        for workload in inventory.of(Workload, cluster):
            path, named = queue_of(workload)
            framework = framework_of(workload)
            if named in (None, "") or framework is None or framework in listed:
                continue
            of_pods = _PODS if path[:1] == ("spec",) else ""
            by_parts = {_BY_PARTS.get(framework, ""), of_pods} & {*map(str, listed)}
            if by_parts or workload.kind in others:
                continue
            yield Problem(
                NOT_MANAGED,
                workload.source,
                path,
                f"{at_start(workload.source.name)} names {_queue(named)}, and Kueue's "
                f"configuration lists {', '.join(map(str, listed))}: it does not manage its kind.",
                f"Add {framework} to integrations.frameworks of Kueue's configuration.",
            )


def _queue(named: Any) -> str:
    return "a queue" if named is UNKNOWN else f"the queue {text(named)}"


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
