"""Formats of numbers that vLLM is told to compute in, against the GPUs that its pods may get."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.gpus import BFLOAT16_FROM
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.rules.gpu_programs import NO_BFLOAT16

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_TOLD: Final = re.compile(r"--dtype(?:=|\s+)['\"]?bfloat16(?=['\"\s\\]|$)")


@edge(NO_BFLOAT16)
def number_formats(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods that can be on GPUs of one age only; vLLM alone refuses what others work around."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            if workload.spec is UNKNOWN:
                continue
            for container in gpu_containers(workload):
                if not container.gpus or not _is_told(container):
                    continue
                places = ground.places(workload, requests)
                if places.seen and len(places.seen) == len(places.possible):
                    yield from _lacking(container, places.seen)


def _is_told(container: GpuContainer) -> bool:
    runs = f"{text(at(container.value, 'image'))} {container.line}".lower()
    return "vllm" in runs and _TOLD.search(container.line) is not None


def _lacking(container: GpuContainer, offers: Sequence[Offer]) -> Iterator[Problem]:
    types = [offer.kind.type for offer in offers]
    gpus = [each.gpu for each in types if each is not None and each.gpu is not None]
    if len(gpus) < len(types) or any(gpu.compute_capability >= BFLOAT16_FROM for gpu in gpus):
        return
    workload, gpu = container.workload, gpus[0]
    yield Problem(
        NO_BFLOAT16,
        workload.source,
        container.place,
        f"{at_start(workload.source.name)} has vLLM compute in bfloat16, and the only nodes that "
        f"it can be on, such as {offers[0].kind.nodes.source.name}, have a {gpu.model} of compute "
        f"capability {'.'.join(map(str, gpu.compute_capability))}.",
        "Write --dtype=half, or take nodes with GPUs of compute capability 8.0, such as g5 or g6.",
    )
