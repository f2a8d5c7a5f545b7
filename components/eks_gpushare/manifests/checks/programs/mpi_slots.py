"""Processes that mpirun starts, against the slots that an MPIJob gives it.

Open MPI starts no more than there are, unless it is told to. Sources, November 2026:
`newConfigMap` in pkg/controller/mpi_job_controller.go of kubeflow/mpi-operator, which writes a host
file of as many slots for each worker, and
https://docs.open-mpi.org/en/v5.0.x/launching-apps/scheduling.html.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, has_unknown, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.gpu_programs import SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_REPLICAS: Final = ("spec", "mpiReplicaSpecs")
_STARTED: Final = re.compile(
    r"(?:^|[\s/;&])(?:mpirun|mpiexec|horovodrun)\s(?:[^;&|#]*?\s)??(?:-np|-n|--np)\s+([0-9]+)(?=[\s\\]|$)"
)
_WHOLE: Final = re.compile(r"[0-9]+")
_TOLD_MORE: Final = re.compile(
    r"oversubscribe|host|-H[\s=]|-N[\s=]|npernode|ppr|OMPI_MCA|rmaps|\$|--map-by\s+\S*:"
)
"""Words by which it may start more, or has other hosts."""


@edge(SPLIT)
def slots(inventory: Inventory) -> Iterator[Judgement]:
    """Of jobs whose launcher is written out."""
    for workload in inventory.of(Workload):
        value = value_of(workload)
        if workload.kind != "MPIJob" or workload.spec_path[:3] != (*_REPLICAS, "Launcher"):
            continue
        given = _given(value)
        for container in gpu_containers(workload) if given else ():
            found = _STARTED.search(container.line)
            if given is None or found is None or _TOLD_MORE.search(container.line):
                continue
            wanted, there = int(found[1]), given[0] * given[1]
            if wanted > there:
                yield Problem(
                    SPLIT,
                    workload.source,
                    container.place,
                    f"{at_start(workload.source.name)} starts {wanted} processes by MPI, and has "
                    f"fewer slots for them: workers {given[0]}, slots of each {given[1]}.",
                    "Let slotsPerWorker be the GPUs of a worker, or start as many as there are "
                    "slots.",
                )


def _given(value: Any) -> tuple[int, int] | None:
    """How many workers there are, and the slots of each; None where that is not known."""
    spec = at(value, "spec")
    implementation = at(spec, "mpiImplementation")
    known = (at(spec, "slotsPerWorker"), at(value, *_REPLICAS, "Worker", "replicas"))
    if implementation not in (None, "OpenMPI") or has_unknown(known):
        return None
    if at(spec, "runLauncherAsWorker") not in (None, False):
        return None
    whole = ["1" if each is None else str(text(each)) for each in known]
    if at(value, *_REPLICAS, "Worker") is None or not all(map(_WHOLE.fullmatch, whole)):
        return None
    return int(whole[1]), int(whole[0])
