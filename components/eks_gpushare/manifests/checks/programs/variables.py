"""Variables of containers with GPUs of which their programs can make nothing.

Sources, November 2026: `get_vllm_port` in `vllm/envs.py` of vllm-project/vllm;
https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables;
`NCCL_SOCKET_IFNAME` of https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; "Driver
Capabilities" of https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
docker-specialized.html; `-a` of `pkg/cmd/app.go` of NVIDIA/dcgm-exporter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import PART_OF_POD, Pointer, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.scheduling import is_extended
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import GpuContainer, gpu_containers
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of
from eks_gpushare.manifests.document import Document, value_of
from eks_gpushare.manifests.rules.starting import NO_USE_OF_IT
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_PORT: Final = "VLLM_PORT"
_WITHOUT_PORT: Final = re.compile(r":v?0\.(?:[0-3]\.[0-9]+|4\.[0-2])(?![0-9.])")
"""Tags of images of a vLLM that does not read it: 0.4.1 does not, and 0.4.3 does."""
_SERVICE: Final = "vllm"
"""Its port is put into that variable, as tcp://10.0.0.1:8000."""
_INTERFACES: Final = "NCCL_SOCKET_IFNAME"
_OF_PODS: Final = "eth0"
_OF_NODES: Final = re.compile(r"=?(?:ens|enp|eno|enP|bond|ib)[0-9a-z]*")
"""How interfaces of machines are called, or begin, of which pods see none."""
_MORE_NETWORKS: Final = ("cni.cncf.io", "networking.gke.io", "cilium.io")
_CAPABILITIES: Final = "NVIDIA_DRIVER_CAPABILITIES"
_ENCODES: Final = re.compile(
    r"\b(?:h264|hevc|av1)_(?:nvenc|cuvid)\b|-hwaccel[= ]+(?:cuda|nvdec|cuvid)\b"
    r"|\bnv(?:h264|h265|av1)enc\b|\bnvv4l2(?:h264|h265)enc\b"
)
_LISTEN: Final = "DCGM_EXPORTER_LISTEN"
_DIGITS: Final = re.compile("[0-9]+")


@edge(NO_USE_OF_IT)
def variables(inventory: Inventory) -> Iterator[Judgement]:
    """Those that are written, and those of Services."""
    for cluster in inventory.clusters():
        links = [each for each in inventory.of(Pointer, cluster) if _gives_port(each)]
        for workload in inventory.of(Workload, cluster):
            if workload.spec is UNKNOWN or workload.kind == PART_OF_POD:
                continue
            for container in gpu_containers(workload):
                env = at(container.value, "env")
                if not has_unknown(env):
                    yield from _linked(container, links)
                    yield from _written(container, env)


def _gives_port(pointer: Pointer) -> bool:
    """Whether it is a Service by the name of vLLM's variables with an address of its own."""
    spec = pointer.spec
    if pointer.kind != "Service" or pointer.name != _SERVICE or has_unknown(spec):
        return False
    return bool(at(spec, "clusterIP") != "None" and at(spec, "type") != "ExternalName")


def _linked(container: GpuContainer, links: list[Pointer]) -> Iterator[Problem]:
    workload = container.workload
    service = next((each for each in links if _is_beside(each, workload)), None)
    server = server_of(container)
    if service is None or server is None or server.name != "vLLM":
        return
    is_off = at(workload.spec, "enableServiceLinks") not in (None, True)
    is_off = is_off or bool(_WITHOUT_PORT.search(str(at(container.value, "image"))))
    names = [at(each, "name") for each in items(at(container.value, "env"))]
    if is_off or _PORT in names or at(container.value, "envFrom"):
        return
    yield Problem(
        NO_USE_OF_IT,
        service.source,
        ("metadata", "name"),
        f"{at_start(service.source.name)} gives {_PORT} to the pods of {workload.source.name}, as "
        "an address, and vLLM takes it for the number of a port and ends.",
        "Call the Service otherwise, or write enableServiceLinks: false into the pod.",
        "warning",
    )


def _is_beside(service: Pointer, workload: Workload) -> bool:
    """Whether both are surely of one namespace; of none that is named, those of one file are."""
    if UNKNOWN not in (service.namespace, workload.namespace):
        return bool(service.namespace == workload.namespace)
    if service.namespace is not UNKNOWN or workload.namespace is not UNKNOWN:
        return False
    here, there = service.source.document, workload.source.document
    return isinstance(here, Document) and isinstance(there, Document) and here.file == there.file


def _written(container: GpuContainer, env: Any) -> Iterator[Problem]:
    for index, variable in enumerate(items(env)):
        name, given = at(variable, "name"), at(variable, "value")
        if not isinstance(given, str | int):
            continue
        told = _told(container, str(name), str(text(given)).strip())
        if told is not None:
            message, fix = told
            yield Problem(
                NO_USE_OF_IT,
                container.workload.source,
                (*container.place, "env", index, "value"),
                f"{at_start(container.workload.source.name)} sets {name} to {text(given)}, "
                f"{message}.",
                fix,
            )


def _told(container: GpuContainer, name: str, given: str) -> tuple[str, str] | None:
    if name == _INTERFACES and _is_in_a_pod(container.workload):
        if _leaves_none(given):
            return "and a pod has no other interface than eth0", f"Write {_OF_PODS}, or remove it."
    elif name == _CAPABILITIES and container.gpus != 0:
        words = {word.strip() for word in given.split(",")}
        found = _ENCODES.search(container.line)
        if found and not words & {"all", "video"}:
            return f"and {found[0]} needs video", f"Write {given},video."
    elif name == _LISTEN and _DIGITS.fullmatch(given):
        return "which is no address to listen at", f'Write ":{given}".'
    return None


def _leaves_none(given: str) -> bool:
    """Whether a list of interfaces, or of beginnings of them, leaves none of a pod's."""
    listed = [word.strip() for word in given.removeprefix("^").split(",") if word.strip()]
    if given.startswith("^"):
        exact = given.startswith("^=")
        each = [word.removeprefix("=") for word in listed]
        return any(word == _OF_PODS or (not exact and _OF_PODS.startswith(word)) for word in each)
    return bool(listed) and all(map(_OF_NODES.fullmatch, listed))


def _is_in_a_pod(workload: Workload) -> bool:
    """Whether its pods have a network of their own, with the one interface that it gives."""
    if at(workload.spec, "hostNetwork") not in (None, False):
        return False
    above = workload.spec_path[:-1]
    annotations = at(value_of(workload), *above, "metadata", "annotations")
    networks = any(sign in key for key, _ in pairs(annotations) for sign in _MORE_NETWORKS)
    asked = {
        name
        for container in gpu_containers(workload)
        for part in ("limits", "requests")
        for name, _ in pairs(at(container.value, "resources", part))
        if is_extended(name)
    }
    return not networks and not has_unknown(annotations) and asked <= {GPU, EFA}
