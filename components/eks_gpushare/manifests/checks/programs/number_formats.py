"""What model servers are told to compute in, against the GPUs that their pods may get."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.catalog.gpus import BFLOAT16_FROM, QUANTIZED_FROM, SGLANG_FROM
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.checks.programs.selected_gpus import selected_gpus
from eks_gpushare.manifests.rules.gpu_programs import OTHER_GPUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.advertised import Offer
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_END: Final = r"(?=['\"\s\\]|$)"
_FORMAT: Final = re.compile(rf"--dtype(?:=|\s+)['\"]?bfloat16{_END}")
_QUANTIZED: Final = re.compile(rf"(?:--quantization|-q)(?:=|\s+)['\"]?([a-z0-9_]+){_END}")
_RELEASE: Final = re.compile(r":v?0\.([0-9]+)(?:\.[0-9]+)?(?:[.-][a-z0-9.-]*)?$")
_LAST_WITHOUT: Final = 11
"""The release of vLLM, after 0, up to which some kernels began at Ampere."""


class _Need(NamedTuple):
    """What a server needs of its GPUs."""

    does: str
    """The end of a sentence that begins with the workload."""
    least: tuple[int, int]
    """The first compute capability that has it."""
    fix: str


@edge(OTHER_GPUS)
def number_formats(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods that can be on GPUs of one age only, whose server refuses what others work around."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            if workload.spec is UNKNOWN:
                continue
            for container in gpu_containers(workload):
                needs = list(_needs(container)) if container.gpus else []
                if not needs:
                    continue
                places = ground.places(workload, requests)
                if places.seen and len(places.seen) == len(places.possible):
                    gpus: list[Any] = [getattr(e.kind.type, "gpu", None) for e in places.seen]
                    nodes = f"the only nodes that it can be on, such as {_named(places.seen)},"
                    yield from _lacking(container, needs, gpus, nodes)
                elif not places.possible:
                    selected = selected_gpus(workload.spec)
                    yield from _lacking(container, needs, selected, "the nodes that it selects")


def _needs(container: GpuContainer) -> Iterator[_Need]:
    image = str(text(at(container.value, "image"))).lower()
    server = server_of(container)
    if server is not None and server.name == "SGLang":
        fix = f"Take nodes with GPUs of compute capability {_shown(SGLANG_FROM)}, such as g4dn."
        yield _Need("runs SGLang", SGLANG_FROM, fix)
    of_kserve = at(container.value, "modelFormat", "name") == "huggingface"  # by vLLM
    if "vllm" not in f"{image} {container.line}".lower() and not of_kserve:
        return
    if _FORMAT.search(container.line):
        fix = "Write --dtype=half, or take nodes with GPUs of compute capability 8.0, such as g5."
        yield _Need("has vLLM compute in bfloat16", BFLOAT16_FROM, fix)
    found = _QUANTIZED.search(container.line)
    if found and found[1] in QUANTIZED_FROM and server is not None:
        always, older = QUANTIZED_FROM[found[1]]
        release = _RELEASE.search(image)
        is_old = release is not None and int(release[1]) <= _LAST_WITHOUT
        least = older if is_old else always
        fix = f"Take nodes with GPUs of compute capability {_shown(least)}, or another format."
        yield _Need(f"has vLLM compute by {found[1]}", least, fix)


def _shown(capability: tuple[int, int]) -> str:
    return ".".join(map(str, capability))


def _named(offers: Sequence[Offer]) -> str:
    return offers[0].kind.nodes.source.name


def _lacking(
    container: GpuContainer, needs: Sequence[_Need], gpus: Sequence[Any], nodes: str
) -> Iterator[Problem]:
    workload = container.workload
    for need in needs:
        if not gpus or any(gpu is None or gpu.compute_capability >= need.least for gpu in gpus):
            continue
        yield Problem(
            OTHER_GPUS,
            workload.source,
            container.place,
            f"{at_start(workload.source.name)} {need.does}, and {nodes} have a {gpus[0].model} of "
            f"compute capability {_shown(gpus[0].compute_capability)}.",
            need.fix,
        )
