"""Programs that reserve nearly all of a GPU's memory when they start, on GPUs that are shared."""

from __future__ import annotations

import re
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.landings import starting_grounds
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.shared_names import alone
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.metrics.scaling import most_pods, scalers_of
from eks_gpushare.manifests.checks.nodes.thin_shares import replicas_written
from eks_gpushare.manifests.checks.workloads.spare_gpus import lasting_workloads, most_together
from eks_gpushare.manifests.rules.reserved_memory import RESERVES_MEMORY
from eks_gpushare.sharing.resources import GPU, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.manifests.checks.workloads.spare_gpus import Lasting


class _Program(NamedTuple):
    """A program, by what its containers are called, and what it takes."""

    name: str
    sign: re.Pattern[str]
    part: float
    """Of the GPU's memory, where nobody says."""
    flags: tuple[str, ...]
    """By which a command line says how much."""
    variables: Mapping[str, tuple[str, ...]]
    """Variables that say otherwise, each with the values that do; any where there are none."""
    fix: str


_PROGRAMS: Final = (
    _Program(
        "vLLM",
        re.compile(r"(?:^|[/.\s-])vllm(?:$|[/.:\s-])"),
        0.9,
        ("--gpu-memory-utilization", "--gpu_memory_utilization"),
        {},
        "Give it --gpu-memory-utilization with a part that leaves room for the others",
    ),
    _Program(
        "TensorFlow",
        re.compile(r"(?:^|[/-])tensorflow(?:$|[/:_-])"),
        1.0,
        ("--per_process_gpu_memory_fraction",),
        {"TF_FORCE_GPU_ALLOW_GROWTH": ("true", "1"), "TF_GPU_ALLOCATOR": ()},
        "Set TF_FORCE_GPU_ALLOW_GROWTH=true, so that it takes what it needs",
    ),
    _Program(
        "JAX",
        re.compile(r"(?:^|[/-])jax(?:$|[/:_-])"),
        0.75,
        (),
        {
            "XLA_PYTHON_CLIENT_PREALLOCATE": ("false", "0"),
            "XLA_PYTHON_CLIENT_MEM_FRACTION": (),
            "XLA_CLIENT_MEM_FRACTION": (),
            "XLA_PYTHON_CLIENT_ALLOCATOR": ("platform",),
        },
        "Set XLA_PYTHON_CLIENT_PREALLOCATE=false, so that it takes what it needs",
    ),
)
"""What each takes by default, November 2026: https://www.tensorflow.org/guide/gpu,
https://docs.jax.dev/en/latest/gpu_memory_allocation.html, https://docs.vllm.ai/en/stable/configuration/engine_args/
"""
_MOST: Final = 0.5
"""With more than that, two of them have no room on one GPU."""
_SEVERAL: Final = 2
_ROUNDED: Final = 0.001
_APART: Final = ("podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_HOSTNAME: Final = "kubernetes.io/hostname"
_MOST_DOMAINS: Final = 10_000
_CONFIGURED: Final = re.compile(r"(?:^|\s)--config[=\s]", re.ASCII)
"""The file in which vLLM has any of its flags:
https://docs.vllm.ai/en/stable/configuration/serve_args/."""


@edge(RESERVES_MEMORY)
def memory_is_left(inventory: Inventory) -> Iterator[Judgement]:
    """Of workloads with several pods, or that may be scaled to so many, with shares of one GPU."""
    for cluster in inventory.clusters():
        ground = starting_grounds(inventory, cluster)
        written = replicas_written(inventory, cluster)
        scalers = scalers_of(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            replicas = most_pods(workload, scalers(workload))
            if replicas is None or replicas < _SEVERAL or _are_on_nodes(workload, replicas):
                continue
            each_shares = [
                (
                    {each.resource: _shares(offer, each.resource, written) for each in requests},
                    next(filter(None, (_gpus(offer, each.resource) for each in requests)), None),
                )
                for offer in ground.places(workload).alike
            ]
            if not ground.every and (by_itself := alone(inventory, cluster)) is not None:
                config = by_itself.config
                slices = config.replicas if config.sharing == "timeSlicing" else {}
                shares = {
                    each.resource: slices.get(each.resource.removesuffix(SHARED_SUFFIX), 1)
                    for each in requests
                }
                each_shares = [(shares, None)]
            found = (_reserved(workload, replicas, shared, gpus) for shared, gpus in each_shares)
            yield from [problem for problem in found if problem is not None][:1]


def _reserved(
    workload: Workload, replicas: int, shared: Mapping[str, int], gpus: int | None
) -> Problem | None:
    for where, container in containers(workload.spec):
        parts = (at(container, "resources", key) for key in ("limits", "requests"))
        asked = {name for part in parts for name, _ in pairs(part)}
        shares = max((n for name, n in shared.items() if name in asked), default=1)
        program = _program(container)
        if shares < _SEVERAL or program is None:
            continue
        part = _part(program, container)
        # The device plugin gives a pod the GPU with the fewest, see internal/rm/allocate.go: of few
        # pods each has one for itself. Small parts are enough for two, and not for all.
        together = min(shares, ceil(replicas / (gpus or replicas)))
        are_many = part is not None and _is_more(part * together, 1)
        if part is None or not (part > _MOST or (are_many and not _are_apart(workload))):
            continue
        place: FieldPath = (*workload.spec_path, *where, "image")
        upto = "" if workload.replicas == replicas else "up to "
        return Problem(
            RESERVES_MEMORY,
            workload.source,
            place,
            f"{at_start(workload.source.name)} has {upto}{replicas} pods that run "
            f"{program.name}, which takes {round(part * 100)}% of a GPU's memory at its start, and "
            f"up to {shares} of them get shares of one GPU.",
            f"{program.fix}; or share by MIG, which divides the memory.",
        )
    return None


def _is_more(taken: float, gpus: int) -> bool:
    return taken > gpus + _ROUNDED


def _are_apart(workload: Workload) -> bool:
    """Whether its pods are kept from one node, or spread over several."""
    told = [at(workload.spec, "affinity", *_APART), at(workload.spec, "topologySpreadConstraints")]
    return any(told)


def _are_on_nodes(workload: Workload, replicas: int) -> bool:
    """Whether each of its pods is on a node of its own, as of a term or of a constraint."""
    terms = items(at(workload.spec, "affinity", *_APART))
    spread = [
        each
        for each in items(at(workload.spec, "topologySpreadConstraints"))
        if at(each, "whenUnsatisfiable") != "ScheduleAnyway"
        and at(each, "maxSkew") == 1
        and at(each, "minDomains") in range(replicas, _MOST_DOMAINS)
    ]
    return any(at(each, "topologyKey") == _HOSTNAME for each in (*terms, *spread))


@edge(RESERVES_MEMORY)
def memory_is_enough(inventory: Inventory) -> Iterator[Judgement]:
    """Of workloads that are applied together, on all the GPUs that there can be."""
    for cluster in inventory.clusters():
        groups: dict[Any, list[tuple[Lasting, float]]] = {}
        for each in lasting_workloads(inventory, cluster):
            part = max(_parts(each), default=0.0)
            alone = each.replicas >= _SEVERAL and part > _MOST  # which is told of by itself
            if part and each.replicas and not alone:
                groups.setdefault(each.beside, []).append((each, part))
        for group in groups.values():
            first = group[0][0]
            gpus = most_together(first, partial(_gpus, resource=first.resource))
            large = sum(each.replicas for each, part in group if part > _MOST)
            taken = sum(part * each.replicas for each, part in group)
            if gpus and group[1:] and (large > gpus or _is_more(taken, gpus)):
                yield _too_much(group, gpus)


def _parts(each: Lasting) -> Iterator[float]:
    """What the containers of a pod take of a GPU's memory, as far as that is known."""
    for _, container in containers(each.workload.spec):
        program = _program(container)
        part = None if program is None else _part(program, container)
        if part is not None and each.each == 1:
            yield part


def _gpus(offer: Offer, resource: str) -> int | None:
    """How many GPUs a node has, all of which are in time slices; None where that is not known."""
    of_slices = _shares(offer, resource, None) >= _SEVERAL and offer.mig.instances == {}
    return offer.kind.type.gpu_count if of_slices and offer.kind.type is not None else None


def _too_much(group: Sequence[tuple[Lasting, float]], gpus: int) -> Problem:
    last, part = group[-1]
    beside = ", ".join(
        f"{round(other * 100)}% of {each.workload.source.name}" for each, other in group[:-1]
    )
    where, container = next(
        (where, container)
        for where, container in containers(last.workload.spec)
        if _program(container) is not None
    )
    program = _program(container)
    fix = "" if program is None else program.fix
    return Problem(
        RESERVES_MEMORY,
        last.workload.source,
        (*last.workload.spec_path, *where, "image"),
        f"A pod of {last.workload.source.name} takes {round(part * 100)}% of a GPU's memory at its "
        f"start, beside {beside}, and for all of them there {'is' if gpus == 1 else 'are'} {gpus} "
        f"GPU{'' if gpus == 1 else 's'} in time slices.",
        f"{fix}; or share by MIG, which divides the memory.",
    )


def _shares(offer: Offer, resource: str, written: int | None) -> int:
    """How many pods have time slices of what one of a resource stands for."""
    config = offer.config
    if config is None:
        of_map = resource == GPU and offer.kind.nodes.provisioner != "byHand"
        return written or 1 if of_map else 1
    if config.sharing != "timeSlicing" or not offer.is_shared(resource):
        return 1
    return config.replicas[resource.removesuffix(SHARED_SUFFIX)]


def _program(container: Any) -> _Program | None:
    """What a container runs, as far as its image, its name or its command says so."""
    image, name = (str(text(at(container, key))).lower() for key in ("image", "name"))
    words = [
        str(text(item)).lower() for key in ("command", "args") for item in items(at(container, key))
    ]
    told = [image.partition("@")[0], name, *words[:_FIRST_WORDS]]
    return next(
        (program for program in _PROGRAMS if any(program.sign.search(word) for word in told)), None
    )


_FIRST_WORDS: Final = 4
"""Of a command, those that can name the program."""


def _part(program: _Program, container: Any) -> float | None:
    """The part of a GPU's memory that it takes; None where something else decides."""
    listed = items(at(container, "env"))
    if any(at(item, "name") is UNKNOWN for item in listed) or at(container, "envFrom"):
        return None
    for item in listed:
        values = program.variables.get(str(text(at(item, "name"))))
        if values is None:
            continue
        given = at(item, "value")
        if not values or given is None or given is UNKNOWN or str(text(given)).lower() in values:
            return None
    words = [text(item) for key in ("command", "args") for item in items(at(container, key))]
    if UNKNOWN in words:
        return None
    return _by_flag(program, " ".join(map(str, words)))


def _by_flag(program: _Program, line: str) -> float | None:
    if program.name == "vLLM" and _CONFIGURED.search(line):
        return None
    for flag in program.flags:
        found = re.search(rf"{flag}(?:=|\s+)([0-9.]+)", line, re.ASCII)
        if found is not None:
            try:
                return float(found[1])
            except ValueError:
                return None
        if flag in line:
            return None
    return program.part
