"""Workloads that Kueue manages though they name no queue, and those that name one in vain.

Source: "LocalQueueDefaulting" of
https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/setup_default_local_queue/ and
`manageJobsWithoutQueueName` of https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/, and
the names of frameworks in pkg/controller/jobs of kubernetes-sigs/kueue; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.edges.queues import queue_of
from eks_gpushare.inventory.items import Namespace, Pointer, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.kueue_counting import configuration
from eks_gpushare.manifests.placeholders import without_placeholders
from eks_gpushare.manifests.rules.admission import NOT_MANAGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NO_QUEUE: Final = rule_of("GPU1266")
_DEFAULT: Final = "default"
_NAME: Final = "kubernetes.io/metadata.name"
_PLAIN: Final = ("Job", "Pod")
"""Kinds that nothing else makes where they stand in a file."""
_FRAMEWORKS: Final = {
    "apps/Deployment": "deployment",
    "apps/StatefulSet": "statefulset",
    "batch/Job": "batch/job",
    "Pod": "pod",
    **{
        f"{group}/{kind}": f"{group}/{kind.lower()}"
        for group, kinds in {
            "jobset.x-k8s.io": ("JobSet",),
            "kubeflow.org": ("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"),
            "leaderworkerset.x-k8s.io": ("LeaderWorkerSet",),
            "ray.io": ("RayJob", "RayCluster", "RayService"),
            "sparkoperator.k8s.io": ("SparkApplication",),
            "trainer.kubeflow.org": ("TrainJob",),
            "workload.codeflare.dev": ("AppWrapper",),
        }.items()
        for kind in kinds
    },
}
"""Kinds by their groups, and how Kueue's configuration calls them."""


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
            if workload.kind not in _PLAIN or _framework(workload) not in frameworks:
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


def _framework(workload: Workload) -> str | None:
    """How Kueue's configuration calls the kind of a workload; None of one that it does not know."""
    group, _, _ = str(at(value_of(workload), "apiVersion")).rpartition("/")
    return _FRAMEWORKS.get(f"{group}/{workload.kind}" if group else workload.kind)


@edge(NOT_MANAGED)
def in_vain(inventory: Inventory) -> Iterator[Judgement]:
    """Workloads of kinds that the configuration, which lists others, leaves out."""
    for cluster in inventory.clusters():
        listed = at(configuration(inventory, cluster), "integrations", "frameworks")
        if not items(listed) or has_unknown(without_placeholders(listed)):
            continue
        for workload in inventory.of(Workload, cluster):
            path, named = queue_of(workload)
            framework = _framework(workload)
            if named in (None, "") or framework is None or framework in listed:
                continue
            yield Problem(
                NOT_MANAGED,
                workload.source,
                path,
                f"{at_start(workload.source.name)} names the queue {text(named)}, and Kueue's "
                f"configuration lists {', '.join(map(str, listed))}: it does not manage its kind.",
                f"Add {framework} to integrations.frameworks of Kueue's configuration.",
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
