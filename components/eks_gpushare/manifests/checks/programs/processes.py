"""Programs of several processes: one for each GPU that the container has, with shared memory.

Sources, November 2026: https://docs.pytorch.org/docs/stable/elastic/run.html,
https://www.deepspeed.ai/getting-started/,
https://www.kubeflow.org/docs/components/trainer/operator-guides/ml-policy/ and
`nprocPerNode` in pkg/apis/kubeflow.org/v1/pytorch_types.go of kubeflow/training-operator 1.9.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    SHM,
    GpuContainer,
    gpu_containers,
    runs_as_written,
    shares_memory,
    trains,
)
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.gpu_programs import NO_SHARED_MEMORY, SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_LAUNCHERS: Final = re.compile(
    r"(?:^|[\s/'\"])(?:torchrun|deepspeed|horovodrun|accelerate\s+launch)\s"
    r"|torch\.distributed\.(?:run|launch)\s"
)
_PROCESSES: Final = re.compile(
    r"(?:torchrun|torch\.distributed\.(?:run|launch))\s[^;&|]*?"
    r"--nproc[-_]per[-_]node(?:=|\s+)['\"]?([0-9]+)(?=['\"\s\\]|$)"
    r"|(?:^|[\s/])deepspeed\s[^;&|]*?--num_gpus(?:=|\s+)['\"]?([0-9]+)(?=['\"\s\\]|$)"
)
"""How many each starts on a node; of more nodes these flags say nothing."""
_OF_TORCHRUN: Final = "PET_NPROC_PER_NODE"
"""The variable that torchrun takes in place of its flag."""

_PYTHON: Final = re.compile(r"(?:.*/)?python[0-9.]*")
_BY_A_SHELL: Final = re.compile(
    r"(?:\S*/)?(?:ba)?sh -l?c\s+(?:time\s+|exec\s+)*(?:\S*/)?python[0-9.]*\s"
    r"(?:-u\s)?\s*[^\s;&|]+\.py(?:\s[^;&|]*)?"
)
"""A line of a shell that runs a program of Python and nothing else."""
_STARTS_OTHERS: Final = re.compile(
    r"launch(?!er)|torchrun|devices|gpus|nproc|spawn|world|(?:^|\s)-m\s"
)
"""Words by which a program may be told to start a process for each GPU itself."""
_BACKEND: Final = re.compile(
    r"--backend-config(?:=|\s+)['\"]?python,shm-default-byte-size=([0-9]+)(?=['\"\s]|$)"
)
"""https://github.com/triton-inference-server/python_backend#running-multiple-instances-of-triton-server"""
_ON_ONE: Final = re.compile(r"--num[-_]gpus(?:=|\s+)['\"]?1(?=['\"\s]|$)")
"""How many GPUs tf_cnn_benchmarks uses of those that are there: github.com/tensorflow/benchmarks"""
_GIVEN: Final = 64 * 2**20
"""What a container has of shared memory by itself."""
_LAUNCHER: Final = ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec")
_ON_GPUS: Final = re.compile(r"(?:^|[\s/])python[0-9.]*\s|_perf(?:_mpi)?(?:\s|$)")
"""What MPI starts that exchanges by NCCL: programs for training, and NVIDIA's tests of it."""
_ONE_A_POD: Final = re.compile(
    r"(?:^|[\s/])(?:mpirun|mpiexec)\s(?:(?!python|_perf|\.py|[;&|]).)*?"
    r"(?:(?<=\s)(?:-N|--?npernode)[\s=]+1(?=\s)|\bppr:1:node\b)",
    re.DOTALL,
)
"""A process of MPI on each machine, by options before the program:
https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html."""
_STARTS: Final = re.compile(
    r"\b(?:mpirun|mpiexec)\s|nproc|num_processes|torchrun|\blaunch\b|deepspeed"
)
"""What starts processes; twice in a line it is not known which of them are how many."""
_OF_SEVERAL: Final = re.compile(
    r"_perf(?:_mpi)?\s(?:.*\s)?(?:-[gt]|--ngpus|--nthreads)[\s=]+(?!1(?:\s|$))"
)
"""A test of NCCL whose process has several GPUs or threads: github.com/NVIDIA/nccl-tests."""


@edge(SPLIT, NO_SHARED_MEMORY)
def processes(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods as they are written, and of what Kubeflow's trainer is told beside its GPUs."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN:
            continue
        for container in gpu_containers(workload):
            gpus = container.gpus
            if not gpus or workload.kind == "DaemonSet":
                continue
            yield from _declared(container, gpus)
            if runs_as_written(workload):
                yield from _started(container, gpus)
                yield from _shared(container, gpus)
                yield from _of_triton(container)


def _processes(container: GpuContainer) -> list[int]:
    """How many each command of a line starts on a node, where it says so."""
    return [int(one or other) for one, other in _PROCESSES.findall(container.line)]


def _started(container: GpuContainer, gpus: int) -> Iterator[Problem]:
    """More processes than GPUs by a command line: all those beyond end at their start."""
    found = _processes(container)
    place = container.place
    if not found:
        for index, variable in enumerate(items(at(container.value, "env"))):
            given = str(text(at(variable, "value")))
            if at(variable, "name") == _OF_TORCHRUN and given.isascii() and given.isdecimal():
                found, place = [int(given)], (*place, "env", index, "value")
    if found and min(found) > gpus:
        yield _unlike(container, gpus, min(found), place)


def _declared(container: GpuContainer, gpus: int) -> Iterator[Problem]:
    """A number of processes that stands beside the GPUs, of Kubeflow's jobs."""
    workload = container.workload
    document = workload.source.document
    given, place = at(container.value, "numProcPerNode"), (*container.place, "numProcPerNode")
    if workload.kind == "PyTorchJob" and isinstance(document, Document):
        given, place = at(document.value, "spec", "nprocPerNode"), ("spec", "nprocPerNode")
    shown = str(text(given))
    if not (shown.isascii() and shown.isdecimal()):
        return
    if workload.kind == "PyTorchJob" and int(shown) > 1 and _starts_one(container):
        yield Problem(
            SPLIT,
            workload.source,
            container.place,
            f"{at_start(workload.source.name)} has nprocPerNode {shown}, which torchrun reads, and "
            f"starts python, which is one process of {gpus} GPU{'s' if gpus > 1 else ''}.",
            "Start it by torchrun in place of python.",
        )
    if int(shown) == gpus:
        return
    if not _PROCESSES.search(container.line):
        yield _unlike(container, gpus, int(shown), place)


def _starts_one(container: GpuContainer) -> bool:
    """Whether a program is started by python alone, and nothing in its words starts others."""
    words = [text(word) for key in ("command", "args") for word in items(at(container.value, key))]
    if UNKNOWN in words or not words or not _PYTHON.fullmatch(str(words[0])):
        return False
    script = next((str(word) for word in words[1:] if not str(word).startswith("-")), "")
    return script.endswith(".py") and not _STARTS_OTHERS.search(" ".join(map(str, words)))


def _runs_one(line: str) -> bool:
    """Whether a shell does so, and nothing in its words starts others."""
    return _BY_A_SHELL.fullmatch(line) is not None and _STARTS_OTHERS.search(line) is None


def _unlike(container: GpuContainer, gpus: int, wanted: int, place: FieldPath) -> Problem:
    return Problem(
        SPLIT,
        container.workload.source,
        place,
        f"{at_start(container.workload.source.name)} starts {wanted} "
        f"process{'es' if wanted > 1 else ''} in a container of {gpus} "
        f"GPU{'s' if gpus > 1 else ''}, of which each takes one.",
        f"Start {gpus} processes, or ask for {wanted} GPUs.",
    )


def _shared(container: GpuContainer, gpus: int) -> Iterator[Problem]:
    """Processes on several GPUs, which exchange what they compute by NCCL."""
    is_told = _trains(container.workload) or _LAUNCHERS.search(f"{container.line} ")
    on_one = _ON_ONE.search(container.line) or max(_processes(container), default=gpus) == 1
    if gpus > 1 and is_told and not on_one and not shares_memory(container):
        yield Problem(
            NO_SHARED_MEMORY,
            container.workload.source,
            container.place,
            f"{at_start(container.workload.source.name)} computes on {gpus} GPUs, and its "
            "processes have 64 MiB of shared memory.",
            f"Mount an emptyDir with medium: Memory at {SHM}.",
            # One process, unless the program itself starts others, such as those that load data.
            severity="info" if _starts_one(container) or _runs_one(container.line) else None,
        )


def _of_triton(container: GpuContainer) -> Iterator[Problem]:
    """Shared memory that Triton's backend for Python takes for each model as it starts."""
    found = _BACKEND.search(container.line)
    if found and int(found[1]) >= _GIVEN and not shares_memory(container):
        yield Problem(
            NO_SHARED_MEMORY,
            container.workload.source,
            container.place,
            f"{at_start(container.workload.source.name)} gives each model of Triton's Python "
            f"backend {found[1]} bytes of shared memory, and there are 64 MiB.",
            f"Mount an emptyDir with medium: Memory at {SHM}.",
        )


def _trains(workload: Workload) -> bool:
    """Whether a kind is one for training; of an MPIJob, whether its launcher starts such."""
    document = workload.source.document
    if workload.kind != "MPIJob" or not isinstance(document, Document):
        return trains(workload.kind)
    words = [
        str(text(word))
        for container in items(at(document.value, *_LAUNCHER, "containers"))
        for key in ("command", "args")
        for word in items(at(container, key))
    ]
    line = " ".join(words)
    is_one = _ONE_A_POD.search(line) and not _OF_SEVERAL.search(line)
    return bool(_ON_GPUS.search(line)) and not (is_one and len(_STARTS.findall(line)) == 1)
