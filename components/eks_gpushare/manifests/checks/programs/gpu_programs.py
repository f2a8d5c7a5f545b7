"""Programs that run on GPUs, held against what their own container asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import is_extended
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import (
    SHM,
    GpuContainer,
    asked_for,
    gpu_containers,
    is_of_a_group,
    runs_as_written,
    shares_memory,
)
from eks_gpushare.manifests.checks.scheduling.other_schedulers import part_of_kai
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.rules.gpu_programs import (
    ASKS_FOR_NONE,
    NO_SHARED_MEMORY,
    NO_SUCH_DEVICE,
    SPLIT,
)
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CUDA: Final = "CUDA_VISIBLE_DEVICES"
_NUMBERS: Final = re.compile(r"[0-9]{1,3}(?:\s*,\s*[0-9]{1,3})*")


class ModelServer(NamedTuple):
    """A program that serves models, and how it is told over how many GPUs."""

    name: str
    image: re.Pattern[str]
    """Of images with CUDA."""
    command: re.Pattern[str]
    flags: tuple[str, ...]
    """Whose numbers, multiplied, are how many GPUs it uses."""
    own: str
    """The one that people set."""
    finds: bool = False
    """Whether it uses all GPUs that it finds where nobody says."""
    variable: str = ""
    """What of its environment it takes in place of the flag."""
    shared: tuple[str, tuple[str, ...]] = ("", ())
    """A switch, and flags whose numbers are with it those of parts of the same GPUs."""


# Of builds for other processors the tag says so.
_OTHERS: Final = re.compile(r"cpu|rocm|xpu|intel|gaudi|hpu|neuron|tpu|xeon|openvino|amd")
_ON_CPU: Final = re.compile(r"--device[= ]+['\"]?cpu")
_NO_IMAGE: Final = re.compile(r"(?!)")
"""Of programs whose images run something else by themselves."""
_SERVERS: Final = (
    ModelServer(
        "vLLM",
        re.compile(r"(?:^|/)vllm/vllm-openai(?::|$)"),
        re.compile(r"(?:^|\s|/)vllm serve\s|vllm\.entrypoints\.(?!cli\.main bench)"),
        (
            *(r"--tensor[-_]parallel[-_]size", r"-tp", r"--pipeline[-_]parallel[-_]size", r"-pp"),
            *(r"--data[-_]parallel[-_]size", r"-dp"),
        ),
        "--tensor-parallel-size",
    ),
    ModelServer(
        "SGLang",
        re.compile(r"(?:^|/)lmsysorg/sglang(?::|$)"),
        re.compile(r"sglang[. ](?:launch_server|serve)"),
        (r"--tp(?:-size)?", r"--tensor-parallel-size", r"--pp-size", r"--dp-size", r"--dp"),
        "--tp",
        # https://docs.sglang.ai/advanced_features/server_arguments.html: the tp size remains.
        shared=("--enable-dp-attention", ("--dp-size", "--dp")),
    ),
    ModelServer(
        "Text Generation Inference",
        re.compile(r"(?:^|/)huggingface/text-generation-inference(?::|$)"),
        re.compile(r"text-generation-launcher"),
        (r"--num-shard",),
        "--num-shard",
        finds=True,
        variable="NUM_SHARD",
    ),
    ModelServer(
        "TensorRT-LLM",
        _NO_IMAGE,
        re.compile(r"(?:^|\s|/)trtllm-serve\s"),
        (r"--tp_size", r"--tensor_parallel_size", r"--pp_size", r"--pipeline_parallel_size"),
        "--tp_size",
    ),
    ModelServer(
        "LMDeploy",
        _NO_IMAGE,
        re.compile(r"lmdeploy serve api_server\s"),
        (r"--tp", r"--dp"),
        "--tp",
    ),
)
"""How each is told, November 2026: https://docs.vllm.ai/en/stable/cli/serve/,
https://docs.sglang.ai/advanced_features/server_arguments.html,
https://huggingface.co/docs/text-generation-inference/reference/launcher,
https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html,
https://lmdeploy.readthedocs.io/en/latest/llm/api_server.html
"""
_LEFT_OUT: Final = re.compile(r"^[ \t]*#[^\n]*(?:\.\.\.|\u2026)", re.MULTILINE)
"""A comment of a guide in place of more keys."""
_BY_FILE: Final = re.compile(r"--(?:config|extra_llm_api_options|options)[= ]")
SEVERAL_NODES: Final = re.compile(
    r"--nnodes|--distributed[-_]executor[-_]backend[= ]+ray|ray (?:start|symmetric-run)"
    r"|--data[-_]parallel[-_](?:address|size[-_]local)|--dist-init-addr"
    r"|--omni(?:\s|$)"  # whose stages have GPUs of their own, by a file
)


@edge(NO_SUCH_DEVICE, SPLIT, NO_SHARED_MEMORY, ASKS_FOR_NONE)
def programs(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods as they are written: other controllers add to theirs."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or not runs_as_written(workload):
            continue
        for container in gpu_containers(workload):
            yield from _devices(container)
            server = server_of(container)
            if server is not None:
                yield from _served(container, server)


def _devices(container: GpuContainer) -> Iterator[Problem]:
    if not container.gpus or at(container.value, "securityContext", "privileged") is True:
        return
    for index, variable in enumerate(items(at(container.value, "env"))):
        given = at(variable, "value")
        shown = "" if given is UNKNOWN else str(text(given)).strip()
        if at(variable, "name") != _CUDA or not _NUMBERS.fullmatch(shown):
            continue
        beyond = [each for each in shown.split(",") if int(each) >= container.gpus]
        if beyond:
            yield Problem(
                NO_SUCH_DEVICE,
                container.workload.source,
                (*container.place, "env", index, "value"),
                f"{at_start(container.workload.source.name)} sets {_CUDA} to {shown} in a "
                f"container that gets {container.gpus}, which is device 0"
                f"{f' to {container.gpus - 1}' if container.gpus > 1 else ''}.",
                "Remove the variable: the device plugin gives a container its devices.",
                edits=(Edit("remove", (*container.place, "env", index)),),
            )


def _has_slices(container: GpuContainer) -> bool:
    limits = [key for key, _ in pairs(at(container.value, "resources", "limits"))]
    return any(key.startswith(MIG_PREFIX) for key in limits)


def server_of(container: GpuContainer) -> ModelServer | None:
    """What a container serves models with; None where it is not known to do so on CUDA."""
    image = str(text(at(container.value, "image"))).lower().partition("@")[0]
    as_built = not at(container.value, "command")
    if _ON_CPU.search(container.line):
        return None
    for server in _SERVERS:
        if as_built and server.image.search(image) and not _OTHERS.search(image.rpartition("/")[2]):
            return server
        if server.command.search(container.line) and not _OTHERS.search(image):
            return server
    return None


def _served(container: GpuContainer, server: ModelServer) -> Iterator[Problem]:
    # Else a shell decides, or other nodes have a part in it.
    is_all = "$" not in container.line and not SEVERAL_NODES.search(container.line)
    image = str(text(at(container.value, "image"))).lower()
    asks_for_none = container.gpus == 0 and server.image.search(image)
    if is_all and asks_for_none and _needs_one(container):
        yield Problem(
            ASKS_FOR_NONE,
            container.workload.source,
            (*container.place, "image"),
            f"{at_start(container.workload.source.name)} runs {server.name} in a container that "
            "asks for no GPU.",
            "Ask for one under resources.limits, such as nvidia.com/gpu: 1.",
        )
    wanted = split_over(container, server)
    if wanted is None or not container.gpus:
        return
    if wanted > 1 and is_all and _has_slices(container):
        yield Problem(
            SPLIT,
            container.workload.source,
            container.place,
            f"{at_start(container.workload.source.name)} splits a model over {wanted} MIG devices, "
            "which have no way to each other: a process of CUDA sees one of them, and NCCL refuses "
            "two of one GPU.",
            "Ask for one device that is large enough, or for whole GPUs.",
        )
    elif is_all and wanted != container.gpus and not is_of_a_group(container.workload.kind):
        told = f"is split over {wanted}" if wanted > 1 else "uses one"
        yield Problem(
            SPLIT,
            container.workload.source,
            container.place,
            f"{at_start(container.workload.source.name)} gives {server.name} {container.gpus} "
            f"GPU{'s' if container.gpus > 1 else ''}, and it {told}.",
            f"Let {server.own} be how many the container asks for.",
        )
    if wanted > 1 and (is_all or container.gpus > 1) and not shares_memory(container):
        yield Problem(
            NO_SHARED_MEMORY,
            container.workload.source,
            container.place,
            f"{at_start(container.workload.source.name)} splits a model over {wanted} GPUs, and "
            f"its processes have 64 MiB of shared memory.",
            f"Mount an emptyDir with medium: Memory at {SHM}.",
        )


def _needs_one(container: GpuContainer) -> bool:
    """Whether nothing else gives it a GPU: a claim, another's resource, its rights, KAI."""
    value, spec = container.value, container.workload.spec
    if has_unknown([at(value, key) for key in ("resources", "env", "envFrom")]):
        return False
    if _is_excerpt(container) or part_of_kai(container.workload):
        return False
    return not (
        any(map(is_extended, asked_for(container)))
        or at(value, "resources", "claims")
        or at(value, "securityContext", "privileged") is True
        or any(at(each, "name") == "NVIDIA_VISIBLE_DEVICES" for each in items(at(value, "env")))
        or any(
            str(at(each, "hostPath", "path")).startswith("/dev")
            for each in items(at(spec, "volumes"))
        )
    )


def _is_excerpt(container: GpuContainer) -> bool:
    """Whether something is left out without which no API server takes it."""
    workload = container.workload
    document = workload.source.document
    if isinstance(document, Document) and is_guide(document.file):
        selector = at(document.value, "spec", "selector")
        if workload.kind in {"Deployment", "DaemonSet", "StatefulSet"} and selector is None:
            return True
        written = document.text.text if document.text is not None else ""
        if _LEFT_OUT.search(written):
            return True
    volumes = [at(each, "name") for each in items(at(workload.spec, "volumes"))]
    mounted = [at(each, "name") for each in items(at(container.value, "volumeMounts"))]
    return workload.kind != "StatefulSet" and not all(each in volumes for each in mounted)


def split_over(container: GpuContainer, server: ModelServer) -> int | None:
    """Over how many GPUs a server runs; None where something else decides."""
    product, said = 1, False
    switch, flags = server.shared
    is_shared = switch in container.line.split()
    for flag in (each for each in server.flags if not (is_shared and each in flags)):
        for found in re.finditer(rf"(?:^|\s){flag}(?:=|\s+)(\S+)", container.line):
            if not (found[1].isascii() and found[1].isdecimal()):
                return None
            product, said = product * int(found[1]), True
    for variable in items(at(container.value, "env")) if server.variable and not said else ():
        given = str(text(at(variable, "value")))
        if at(variable, "name") == server.variable and given.isascii() and given.isdecimal():
            product, said = int(given), True
    if not said and (server.finds or not is_told_all(container, server)):
        return None
    return product or None


def is_told_all(container: GpuContainer, server: ModelServer) -> bool:
    """Whether its command line is all that it is told: no file, no variables, no script."""
    by_image = bool(at(container.value, "args")) and not at(container.value, "command")
    return not _BY_FILE.search(container.line) and bool(
        server.command.search(f"{container.line} ") or by_image
    )
