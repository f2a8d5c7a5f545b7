"""Where the processes of one training, or of one server on several nodes, meet each other.

Sources, November 2026: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/ and
https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/: a pod has a name in DNS
only below a headless Service, and its own name in its own /etc/hosts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.gpu_programs import NO_MEETING_POINT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer

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
                if name in services or not _is_a_pod(name, workload, pods):
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
