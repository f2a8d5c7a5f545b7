"""Programs that run over several pods, against the GPUs that these have, and where they meet.

Sources: https://docs.vllm.ai/en/stable/serving/parallelism_scaling/: tensors times stages is how
many GPUs one copy of a model takes; https://lws.sigs.k8s.io/docs/, whose size counts the leader;
https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/: DNS knows a pod's name only
below a headless Service.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, items
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import asked_for, gpu_containers
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of, split_over
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.gpu_programs import NO_MEETING_POINT, SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer

_GROUP: Final = ("spec", "leaderWorkerTemplate")
_LEADER, _WORKER = "leaderTemplate", "workerTemplate"
_VARIABLES: Final = ("MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")
"""Of PyTorch, and of torchrun in place of its flags."""
_NAME: Final = re.compile(r"([a-z0-9][a-z0-9-]*)(?::[0-9]+)?")
_FLAG: Final = re.compile(
    r"--(?:master[-_]addr|rdzv[-_]endpoint|dist-init-addr)(?:=|\s+)['\"]?"
    rf"{_NAME.pattern}(?=['\"\s\\]|$)"
)
"""Of torchrun, DeepSpeed, vLLM and SGLang."""
_NUMBERED: Final = re.compile(r"(.+)-[0-9]+")
_OWN_NAMES: Final = ("hostAliases", "dnsConfig", "dnsPolicy")
"""By which a pod knows other names than those of the cluster's DNS."""


@edge(SPLIT)
def groups(inventory: Inventory) -> Iterator[Judgement]:
    """Of LeaderWorkerSets that are written out."""
    by_group: dict[int, dict[str, Workload]] = {}
    for workload in inventory.of(Workload):
        if workload.kind == "LeaderWorkerSet":
            part = str(workload.spec_path[2])
            by_group.setdefault(id(workload.source.document), {})[part] = workload
    for parts in by_group.values():
        worker = parts.get(_WORKER)
        if worker is None:
            continue
        leader = parts.get(_LEADER, worker)
        size: Any = at(value_of(worker), *_GROUP, "size")
        if not isinstance(size, int):
            continue
        counts = [*_gpus(leader), *(_gpus(worker) * (size - 1))]
        for container in gpu_containers(leader):
            server = server_of(container)
            wanted = split_over(container, server) if server is not None else None
            known = [each for each in counts if each is not None]
            total = sum(known)
            if wanted is not None and len(known) == len(counts) and wanted > total:
                yield Problem(
                    SPLIT,
                    leader.source,
                    container.place,
                    f"{at_start(leader.source.name)} splits a model over {wanted} GPUs, and its "
                    f"{size} pods have {total} together.",
                    "Let the sizes, multiplied, be how many the pods of a group have.",
                )


def _gpus(workload: Workload) -> list[int | None]:
    """How many each of its containers has; None where that is not known."""
    return [
        None if each.gpus == 0 and _may_have_some(each) else each.gpus
        for each in gpu_containers(workload)
    ]


def _may_have_some(container: GpuContainer) -> bool:
    """Whether GPUs may come by a claim, or by a resource of somebody's own that is called so."""
    named = any("gpu" in name.lower() for name in asked_for(container))
    return named or bool(at(container.value, "resources", "claims"))


@edge(NO_MEETING_POINT)
def meeting_points(inventory: Inventory) -> Iterator[Judgement]:
    """Addresses that are the name of a pod alone, and of no Service."""
    for cluster in inventory.clusters():
        pods = {each.name for each in inventory.of(Workload, cluster) if each.kind == "Pod"}
        services = {each.name for each in inventory.of(Pointer, cluster) if each.kind == "Service"}
        for workload, _ in gpu_workloads(inventory, cluster):
            if any(at(workload.spec, key) for key in _OWN_NAMES):
                continue
            for container in gpu_containers(workload):
                place, name = _address(container)
                if not name or name in services or not _is_a_pod(name, workload, pods):
                    continue
                yield Problem(
                    NO_MEETING_POINT,
                    workload.source,
                    place,
                    f"The processes of {workload.source.name} meet at {name}, which is the name "
                    "of a pod: only that pod itself finds it.",
                    _fix(name, workload),
                    None if inventory.complete else "warning",
                )


def _address(container: GpuContainer) -> tuple[FieldPath, str]:
    for index, variable in enumerate(items(at(container.value, "env"))):
        found = _NAME.fullmatch(str(at(variable, "value")))
        if at(variable, "name") in _VARIABLES and found:
            return (*container.place, "env", index, "value"), found[1]
    given = _FLAG.search(container.line)
    return container.place, given[1] if given else ""


def _is_a_pod(name: str, workload: Workload, pods: set[Any]) -> bool:
    """Whether it is that of another of several pods, by what makes them."""
    if workload.kind == "Pod":
        return name in pods and name != workload.name
    numbered = _NUMBERED.fullmatch(name)
    if numbered is None or numbered[1] != workload.name:
        return False
    value = value_of(workload)
    several = isinstance(workload.replicas, int) and workload.replicas > 1
    of_job = workload.kind == "Job" and str(at(value, "apiVersion")).startswith("batch/")
    return several and (of_job or workload.kind == "StatefulSet")


def _fix(name: str, workload: Workload) -> str:
    below = at(workload.spec, "subdomain")
    if workload.kind == "StatefulSet":
        below = at(value_of(workload), "spec", "serviceName")
    if isinstance(below, str) and below:
        return f"Write {name}.{below}."
    return (
        "Make a Service with `clusterIP: None` for the pods, name it as their `subdomain`, and "
        f"write {name}.SERVICE."
    )
