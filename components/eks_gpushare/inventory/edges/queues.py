"""Kueue's chain from a workload to nodes: its queue, that of the cluster, flavors, their labels.

A link that is missing shows nowhere on the pods: they are suspended, or keep a scheduling gate.
Where none of Kueue's objects is there, nothing is said: a label alone does nothing, and who lints
workloads alone has the queues elsewhere. Of files, what is not among them is a note, unless
another one is there that was meant.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.items import NodeSet, Pointer, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.nodes import NodeKind
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import Request, gpu_workloads
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start, if_missing
from eks_gpushare.sharing.kueue import LOCAL_QUEUE, QUEUE_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Maybe

NO_QUEUE = rule_of("GPU1266")
NO_CLUSTER_QUEUE = rule_of("GPU1267")
NO_FLAVOR = rule_of("GPU1268")
NO_NODES = rule_of("GPU1269")
_CLOSE = 0.8
_TO_OTHERS = "kueue.x-k8s.io/multikueue"
"""Controller of the checks by which MultiKueue sends workloads to other clusters.

Source: https://kueue.sigs.k8s.io/docs/concepts/multikueue/, November 2026.
"""
_WORD = re.compile("[a-z]{4,}")
"""A part of a name that is no number or letter, which tell one from another: `team-a`, `a100`."""
_ANY_TAINT = [{"operator": "Exists"}]
"""Pods may have tolerations of their own beside those of the flavor."""
_FRAMEWORKS = {
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
"""Kinds by their groups, and how Kueue's configuration calls them.

Source: pkg/controller/jobs of kubernetes-sigs/kueue, November 2026.
"""


class _Queues(NamedTuple):
    """What a cluster has of Kueue's."""

    local: Sequence[Pointer]
    of_cluster: Sequence[Pointer]
    flavors: Sequence[Pointer]

    @classmethod
    def of(cls, inventory: Inventory, cluster: str) -> _Queues:
        every = inventory.of(Pointer, cluster)
        kinds = ("LocalQueue", "ClusterQueue", "ResourceFlavor")
        return cls(*([each for each in every if each.kind == kind] for kind in kinds))

    def beside(self, own: Sequence[Pointer]) -> bool:
        """Whether there is more than objects of one kind, which an excerpt of a guide has alone."""
        return any(each and each is not own for each in self)


class _Name(NamedTuple):
    """A name that something has to have."""

    rule: Rule
    by: Pointer | Workload
    place: FieldPath
    value: Any
    kind: str
    effect: str
    """What comes of it, as the rest of a sentence."""


@edge(NO_QUEUE, NO_CLUSTER_QUEUE, NO_FLAVOR)
def queues_lead_on(inventory: Inventory) -> Iterator[Judgement]:
    """Each name in the chain, against the objects of its kind that there are."""
    for cluster in inventory.clusters():
        there = _Queues.of(inventory, cluster)
        if not any(there):
            continue
        for workload, _ in gpu_workloads(inventory, cluster):
            place, value = queue_of(workload)
            name = _Name(NO_QUEUE, workload, place, value, "LocalQueue", "Kueue holds it back")
            yield from _missing(inventory, name, there.local)
        for local in there.local if inventory.complete or there.beside(there.local) else ():
            path: FieldPath = ("spec", "clusterQueue")
            value = at(local.spec, "clusterQueue")
            effect = "nothing in it is admitted"
            name = _Name(NO_CLUSTER_QUEUE, local, path, value, "ClusterQueue", effect)
            yield from _missing(inventory, name, there.of_cluster)
        listed = there.of_cluster
        for queue in listed if inventory.complete or there.beside(listed) else ():
            for path, flavor in _flavors(queue):
                value = at(flavor, "name")
                effect = "the whole queue is inactive and admits nothing"
                place = (*path, "name")
                name = _Name(NO_FLAVOR, queue, place, value, "ResourceFlavor", effect)
                yield from _missing(inventory, name, there.flavors)


def _missing(inventory: Inventory, name: _Name, there: Sequence[Pointer]) -> Iterator[Judgement]:
    by, value = name.by, name.value
    if value is UNKNOWN:
        yield NotSeen(name.rule, by.source, f"the {name.kind} of {by.source.name}")
    if not isinstance(value, str) or not value:
        return
    here = there if name.kind != "LocalQueue" else [each for each in there if _is_beside(each, by)]
    known = [str(each.name) for each in here if each.name is not UNKNOWN]
    if value in known or len(known) < len(here):
        return
    but, fix = "which is not here", f"Make it, or name one that is there: {', '.join(known)}."
    severity: Severity | None = if_missing(inventory)
    elsewhere = [str(each.namespace) for each in there if each.name == value]
    if elsewhere:
        but = f"which is in the namespace {', '.join(dict.fromkeys(elsewhere))}"
        fix = f"Make a LocalQueue {value} in the namespace of {by.source.name}."
        severity = severity and "warning"
    elif near := meant(value, known):
        fix, severity = f"Write {near}, if that was meant.", severity and "warning"
    elif not known:
        fix = f"Make it{' in its namespace' if name.kind == 'LocalQueue' else ''}."
    yield Problem(
        name.rule,
        by.source,
        name.place,
        f"{at_start(by.source.name)} names the {name.kind} {value}, {but}: {name.effect}.",
        fix,
        severity,
    )


def meant(value: str, known: Sequence[str]) -> str | None:
    """The name that is there and was meant: `team-b` is not `team-a`, nor is a10 a100."""
    for near in get_close_matches(value, known, cutoff=_CLOSE):
        parts = [name.replace(".", "-").split("-") for name in (value, near)]
        other = [pair for pair in zip_longest(*parts, fillvalue="") if pair[0] != pair[1]]
        if all(_WORD.fullmatch(part) for pair in other for part in pair):
            return near
    return None


def _is_beside(queue: Pointer, workload: Pointer | Workload) -> bool:
    return may_be_same(queue.namespace, workload.namespace)


def queue_of(workload: Workload) -> tuple[FieldPath, Any]:
    """Where a workload names its queue, and the name; None where it names none.

    A CronJob names that of the Jobs that it makes:
    https://kueue.sigs.k8s.io/docs/tasks/run/run_cronjobs/.
    """
    path: FieldPath = ("metadata", "labels", QUEUE_LABEL)
    value = getattr(workload.source.document, "value", None)
    name = at(value, *path)
    if name is None and workload.kind == "CronJob":
        path = ("spec", "jobTemplate", *path)
        name = at(value, *path)
    if name is None:
        path, name = (*workload.spec_path[:-1], *path), at(workload.labels, QUEUE_LABEL)
    return path, UNKNOWN if isinstance(name, dict | list) else name


def framework_of(workload: Workload) -> str | None:
    """How Kueue's configuration calls the kind of a workload; None of one that it does not know."""
    document = workload.source.document
    group, _, _ = str(at(getattr(document, "value", None), "apiVersion")).rpartition("/")
    return _FRAMEWORKS.get(f"{group}/{workload.kind}" if group else workload.kind)


def tolerations_of_flavors(inventory: Inventory, workload: Workload) -> Maybe[tuple[Any, ...]]:
    """Those that Kueue may add to pods of a queue, of any flavor."""
    if not may_be_queued(inventory, workload):
        return ()
    flavors = [
        each.spec
        for each in inventory.of(Pointer, workload.cluster)
        if each.kind == "ResourceFlavor"
    ]
    if any(at(each, "tolerations") is UNKNOWN for each in flavors):
        return UNKNOWN
    return tuple(one for each in flavors for one in items(at(each, "tolerations")))


def may_be_queued(inventory: Inventory, workload: Workload) -> bool:
    """Whether it names a queue, or Kueue may give it the one that its namespace has by default.

    On unless it is switched off since 0.12, "LocalQueueDefaulting" of
    https://kueue.sigs.k8s.io/docs/tasks/manage/enforce_job_management/setup_default_local_queue/,
    November 2026. What makes Jobs is no workload of Kueue's, and its Jobs are.
    """
    if queue_of(workload)[1] is not None:
        return True
    is_known = workload.kind == "CronJob" or framework_of(workload) is not None
    return is_known and any(
        each.kind == "LocalQueue" and each.name == LOCAL_QUEUE and _is_beside(each, workload)
        for each in inventory.of(Pointer, workload.cluster)
    )


def is_sent_away(inventory: Inventory, workload: Workload) -> bool:
    """Whether its pods may be made in another cluster, to which MultiKueue sends it."""
    _, name = queue_of(workload)
    return name is not None and any(
        queue.name == name and _is_beside(queue, workload)
        for queue in _sending(inventory, workload.cluster)
    )


@kept
def _sending(inventory: Inventory, cluster: str) -> list[Pointer]:
    """The LocalQueues whose ClusterQueue has checks that may be MultiKueue's."""
    there = inventory.of(Pointer, cluster)
    local = {
        each.name
        for each in there
        if each.kind == "AdmissionCheck"
        if at(each.spec, "controllerName") not in (UNKNOWN, _TO_OTHERS)
    }
    strategy = ("admissionChecksStrategy", "admissionChecks")
    sending = {
        each.name
        for each in there
        if each.kind == "ClusterQueue"
        for check in (
            *items(at(each.spec, "admissionChecks")),
            *(at(one, "name") for one in items(at(each.spec, *strategy))),
        )
        if check not in local
    }
    queues = (each for each in there if each.kind == "LocalQueue")
    return [each for each in queues if str(text(at(each.spec, "clusterQueue"))) in sending]


def _flavors(queue: Pointer) -> Iterator[tuple[FieldPath, Any]]:
    for group, each in enumerate(items(at(queue.spec, "resourceGroups"))):
        for number, flavor in enumerate(items(at(each, "flavors"))):
            yield ("spec", "resourceGroups", group, "flavors", number), flavor


@edge(NO_NODES)
def flavors_have_nodes(inventory: Inventory) -> Iterator[Judgement]:
    """What a queue may give of a flavor, against the nodes that have its labels."""
    for cluster in inventory.clusters():
        there = _Queues.of(inventory, cluster)
        flavors = {str(each.name): each for each in there.flavors}
        for queue in there.of_cluster:
            for path, quotas in _flavors(queue):
                flavor = flavors.get(str(at(quotas, "name")))
                for number, quota in enumerate(items(at(quotas, "resources"))):
                    if flavor is not None and _gives(quota):
                        place = (*path, "resources", number)
                        yield from _nodes(inventory, queue, flavor, place, str(at(quota, "name")))


def _gives(quota: Any) -> bool:
    """Whether it is of GPUs, and of more than 0."""
    name, amount = at(quota, "name"), at(quota, "nominalQuota")
    found = quantity(str(text(amount))) if amount is not UNKNOWN else None
    return isinstance(name, str) and is_gpu_resource(name) and bool(found)


def _nodes(
    inventory: Inventory, queue: Pointer, flavor: Pointer, place: FieldPath, resource: str
) -> Iterator[Judgement]:
    labels = at(flavor.spec, "nodeLabels")
    if has_unknown(labels):
        yield NotSeen(NO_NODES, flavor.source, f"the labels of {flavor.source.name}")
        return
    selector = dict(pairs(labels))
    pod = Workload(
        source=queue.source,
        name=queue.name,
        kind="Pod",
        spec={"nodeSelector": selector, "tolerations": _ANY_TAINT},
    )
    found = grounds(inventory, queue.cluster).places(
        pod, [Request(resource, None, None, place, "")]
    )
    if not found.having.offers or found.lands is not False:
        return  # of a resource that no node has, quotas are told by themselves
    every = [NodeKind(nodes, None) for nodes in inventory.of(NodeSet, queue.cluster)]
    others = any(landing(pod.spec, (), kind.label).lands is not False for kind in every)
    if not others and any(kind.nodes.provisioner == "byHand" for kind in every):
        return  # such as the nodes of a running cluster, where an autoscaler has none of a group
    wanted = ", ".join(f"{key}={text(value)}" for key, value in selector.items())
    nearest = found.nearest.offer.kind.nodes.source.name
    yield Problem(
        NO_NODES,
        queue.source,
        place,
        f"{at_start(queue.source.name)} gives {resource} of {flavor.source.name}, whose nodes are "
        f"those with {wanted}: none of them has it, {nearest} has. Pods are admitted, get that "
        "selector and wait for ever.",
        f"Write into {flavor.source.name} the labels of nodes that have {resource}, or set its "
        "quota to 0.",
        None if inventory.complete else "warning",
    )
