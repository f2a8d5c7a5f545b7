"""Models that a server is told by name, against the memory of the GPUs that its container gets.

Of a model the weights alone are counted, as its publisher says of it by its name: more is taken by
what the server keeps beside them. Source: "Conserving Memory" of
https://docs.vllm.ai/en/stable/configuration/conserving_memory/, November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    GpuContainer,
    gpu_containers,
    is_of_a_group,
    runs_as_written,
)
from eks_gpushare.manifests.checks.programs.gpu_programs import SEVERAL_NODES, server_of
from eks_gpushare.manifests.checks.programs.model_sizes import model_named, weights_gib
from eks_gpushare.manifests.checks.programs.selected_gpus import selected_gpus
from eks_gpushare.manifests.rules.gpu_programs import OTHER_GPUS
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.landings import Grounds
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request

_OFFLOADS: Final = re.compile(r"--cpu[-_]offload|--device[= ]+cpu|--offload")
_VARIABLES: Final = {"MODEL_ID": "--model-id", "QUANTIZE": "--quantize"}
"""https://huggingface.co/docs/text-generation-inference/reference/launcher"""
_PROFILE: Final = re.compile(r"[0-9]+g\.([0-9]+)gb")
_MIB: Final = 2**10


class _Memory(NamedTuple):
    """What GPUs have together, at most."""

    mib: int
    said: str


@edge(OTHER_GPUS)
def model_memory(inventory: Inventory) -> Iterator[Judgement]:
    """Of servers of one pod each, on nodes that are here or by what their pods select."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            if not runs_as_written(workload) or is_of_a_group(workload.kind):
                continue
            for container in gpu_containers(workload):
                line = _line(container)
                weights = weights_gib(line)
                gpus = container.gpus
                if not weights or not gpus or server_of(container) is None:
                    continue
                if _OFFLOADS.search(line) or SEVERAL_NODES.search(line):
                    continue
                memory = _memory(container, gpus, requests, ground)
                if memory is not None and not _fits(weights, memory):
                    yield Problem(
                        OTHER_GPUS,
                        workload.source,
                        container.place,
                        f"{at_start(workload.source.name)} loads {model_named(line)}, of "
                        f"{weights:.0f} GiB or more, and {memory.said} {memory.mib} MiB.",
                        "Take GPUs with more memory, or more of them; or a model with fewer bits.",
                    )


def _line(container: GpuContainer) -> str:
    """What a server is told, also by the variables of Text Generation Inference for its options."""
    env = {
        str(text(at(each, "name"))): at(each, "value") for each in items(at(container.value, "env"))
    }
    told = [
        f"{option}={text(env[name])}"
        for name, option in _VARIABLES.items()
        if name in env and env[name] is not UNKNOWN
    ]
    return " ".join([container.line, *told])


def _fits(weights: float, memory: _Memory) -> bool:
    return int(weights * _MIB) < memory.mib


def _memory(
    container: GpuContainer, count: int, requests: Sequence[Request], ground: Grounds
) -> _Memory | None:
    """What a container gets at most; None where that is not known."""
    own = [
        request for request in requests if request.place[: len(container.place)] == container.place
    ]
    names = {request.resource for request in own}
    if all(name.startswith(MIG_PREFIX) for name in names):
        return _of_mig(own)
    if names not in ({GPU}, {GPU + SHARED_SUFFIX}):
        return None
    places = ground.places(container.workload, requests)
    if places.seen and len(places.seen) == len(places.possible):
        sizes = [_of_offer(offer, count) for offer in places.seen]
        nodes = places.seen[0].kind.nodes.source.name
        said = f"what it gets of {nodes} has"
    else:
        selected = [] if places.possible else selected_gpus(container.workload.spec)
        sizes = [None if gpu.memory_mib is None else gpu.memory_mib * count for gpu in selected]
        said = (
            f"the {count} GPU{'s' if count > 1 else ''} that it gets ha{'ve' if count > 1 else 's'}"
        )
    known = [size for size in sizes if size is not None]
    return _Memory(max(known), said) if known and len(known) == len(sizes) else None


def _of_offer(offer: Offer, count: int) -> int | None:
    """What so many GPUs or shares of a node have; of MPS a share has its part."""
    found, config = offer.kind.type, offer.config
    if found is None or found.gpu is None or offer.mig.instances:
        return None
    each = found.gpu.memory_mib
    if each is None:
        return None
    if config is not None and config.sharing == "mps":
        return each * count // config.replicas.get(GPU, 1)
    return each * min(count, found.gpu_count)


def _of_mig(own: Sequence[Request]) -> _Memory | None:
    mib = 0
    for request in own:
        profile = _PROFILE.search(request.resource)
        if profile is None:
            return None
        mib += int(quantity(str(text(request.amount))) or 0) * int(profile[1]) * _MIB
    return _Memory(mib, "its devices of MIG have")
