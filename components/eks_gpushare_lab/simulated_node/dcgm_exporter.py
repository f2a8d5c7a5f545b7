"""What the DCGM exporter of a simulated node answers, in the exporter's own words.

Of its metrics these: DCGM_FI_DEV_GPU_UTIL, DCGM_FI_DEV_FB_USED, DCGM_FI_DEV_FB_FREE and
DCGM_FI_PROF_GR_ENGINE_ACTIVE. Nothing computes on a simulated node, so that clocks, power and
errors would say nothing.

Who gets which value is what matters for scaling, and is as the exporter has it:

- A GPU that MIG has split is told of by instance, and has no DCGM_FI_DEV_GPU_UTIL.
- With KUBERNETES_VIRTUAL_GPUS the device's values are copied to each pod that holds a share of it,
  but for DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED: those stay beside as the device's own,
  without a pod, and each pod gets what its processes use. Without hostPID no process is found, and
  each gets 0; on a MIG instance NVML knows no utilisation by process.
- Without it one pod gets the device's values, whichever comes last.
- Pods that ask for a resource which NVIDIA_RESOURCE_NAMES does not list are not seen, unless it is
  nvidia.com/gpu or begins with nvidia.com/mig-.

For pods that share by MPS it is told as for time slicing, as the exporter's code does it; whether
NVML tells MPS clients apart can only be seen on a GPU.

Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2, internal/pkg, `transformation/kubernetes.go`,
`transformation/process_metrics.go`, `rendermetrics/render_metrics.go`; read 2026-11-22.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.advertising import GPU, MIG
from eks_gpushare_lab.simulated_node.allocation import Device
from eks_gpushare_lab.simulated_node.load import FULL
from eks_gpushare_lab.simulated_node.pods import EXPORTER, environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.allocation import Holding
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware

UTILISATION, USED, FREE = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"

_HELP = {
    UTILISATION: "GPU utilization (in %).",
    USED: "Framebuffer memory used (in MiB).",
    FREE: "Framebuffer memory free (in MiB).",
    ENGINE: "Ratio of time the graphics engine is active.",
}
_BY_PROCESS = (UTILISATION, USED)
_TRUE = ("1", "t", "true")
_SPACE = uuid.UUID("6f2f6a34-6c0e-4e0b-9a0e-3a5f3f6f7f10")
_OLD_LABEL = (4, 5, 3)
_UNKNOWN_MEMORY_MIB = 16384
_SLICES = re.compile(r"([0-9]+)g\.")
_MEMORY = re.compile(r"\.([0-9]+)gb")
_FIRST_IDS = {7: 0, 4: 1, 3: 1, 2: 3}


@dataclass(frozen=True, slots=True)
class Options:
    """How an exporter is configured, as far as it decides what it tells of pods."""

    virtual: bool = False
    """KUBERNETES_VIRTUAL_GPUS."""
    resources: tuple[str, ...] = ()
    """NVIDIA_RESOURCE_NAMES."""
    host_pid: bool = False
    """Whether its pod sees the processes of its node."""
    pod_uid: bool = False
    """DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID."""
    hostname: str = "hostname"
    """The label with the node's name: `Hostname` up to the release 4.5.3-4.8.2."""

    def maps(self, resource: str) -> bool:
        """Whether it sees pods that ask for a resource."""
        return resource == GPU or resource.startswith(MIG) or resource in self.resources


def options_of(pod: Object) -> Options:
    """The options of an exporter by its pod."""
    given = environment_of(pod, EXPORTER)
    names = given.get("NVIDIA_RESOURCE_NAMES", "")
    images = [container.get("image") or "" for container in pod["spec"]["containers"]]
    found = re.search(r"dcgm-exporter:([0-9]+)\.([0-9]+)\.([0-9]+)", " ".join(images))
    old = found is not None and tuple(map(int, found.groups())) <= _OLD_LABEL
    return Options(
        virtual=_is_true(given.get("KUBERNETES_VIRTUAL_GPUS")),
        resources=tuple(filter(None, (name.strip() for name in names.split(",")))),
        host_pid=bool(pod["spec"].get("hostPID")),
        pod_uid=_is_true(given.get("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID")),
        hostname="Hostname" if old else "hostname",
    )


def unseen(holding: Holding, options: Options) -> str:
    """Why an exporter does not tell how much of a device its holder uses; `""` if it does."""
    if not options.maps(holding.resource):
        return f"NVIDIA_RESOURCE_NAMES of the DCGM exporter does not list {holding.resource}"
    if holding.device.replica is None:
        return ""
    if holding.device.instance is not None:
        return "pods take turns on a MIG device there, and NVML measures no process on one"
    if not options.virtual:
        return (
            "KUBERNETES_VIRTUAL_GPUS of the DCGM exporter is not true: one pod of those that share "
            "a GPU has the values of all"
        )
    if not options.host_pid:
        return "the DCGM exporter has no hostPID: it measures 0 for every pod"
    return ""


@dataclass(frozen=True, slots=True)
class ExporterMachine:
    """What an exporter looks at."""

    node: str
    """Name of the node."""
    hardware: Hardware
    """Its GPUs."""
    gpus: Sequence[SimulatedGpu]
    """How MIG has split them."""
    holdings: Sequence[Holding]
    """Who holds what."""
    pods: Mapping[str, Object]
    """Pods that hold something, by UID."""
    load: Callable[[Object], float]
    """Percent that a pod would use if nobody else did."""
    memory: Callable[[Object], float] = field(default=lambda _: 0.0)
    """MiB that a pod holds of each device that it has."""


def exposition(
    machine: ExporterMachine, options: Options, target: Mapping[str, str] | None = None
) -> str:
    """The exporter's answer to a scrape.

    Args:
        machine: what it looks at.
        options: how it is configured.
        target: labels of the target of the scrape, which Prometheus adds where the exporter has no
            label of that name, as with `honorLabels`. Default: none, as the exporter itself.
    """
    lines: dict[str, list[str]] = {name: [] for name in _HELP}
    for unit in _units(machine):
        labels = _labels(machine, unit, options)
        holders = [
            holding
            for holding in machine.holdings
            if holding.device.whole == unit
            and options.maps(holding.resource)
            and holding.pod in machine.pods
        ]
        for name, value, by_pod in _values(machine, unit, options):
            for attributes, said in _told(name, value, by_pod, holders, machine, options):
                shown = ",".join(
                    f'{key}="{text}"'
                    for key, text in {**(target or {}), **labels, **attributes}.items()
                )
                lines[name].append(f"{name}{{{shown}}} {said}")
    found = []
    for name, item in lines.items():
        if item:
            found += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge", *item]
    return "\n".join([*found, ""])


def _units(machine: ExporterMachine) -> Iterator[Device]:
    """What has values of its own: a GPU, or its instances where MIG has split it."""
    for index, gpu in enumerate(machine.gpus):
        if not gpu.mig:
            yield Device(index)
        for number in range(len(gpu.instances)):
            yield Device(index, number)


def _values(
    machine: ExporterMachine, unit: Device, options: Options
) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Metrics of a GPU or an instance: name, its own value, and by pod what its processes use."""
    users = {h.pod: machine.pods[h.pod] for h in machine.holdings if _uses(h, unit, machine)}
    loads = {uid: machine.load(pod) for uid, pod in users.items()}
    asked = sum(loads.values())
    fair = min(1.0, FULL / asked) if asked else 1.0  # who shares waits for the others
    memory = {uid: machine.memory(pod) for uid, pod in users.items()}
    seen = options.host_pid
    if unit.instance is None:
        by_pod = {uid: f"{load * fair:.0f}" for uid, load in loads.items()} if seen else {}
        yield UTILISATION, f"{min(asked, FULL):.0f}", by_pod
    total = _memory_mib(machine, unit)
    used = min(sum(memory.values()), total)
    by_pod = {uid: f"{item:.0f}" for uid, item in memory.items()} if seen else {}
    yield USED, f"{used:.0f}", by_pod
    yield FREE, f"{total - used:.0f}", {}
    yield ENGINE, f"{min(asked, FULL) / FULL:.6f}", {}


def _uses(holding: Holding, unit: Device, machine: ExporterMachine) -> bool:
    return holding.device.whole == unit and holding.pod in machine.pods


def _told(
    name: str,
    value: str,
    by_pod: Mapping[str, str],
    holders: Sequence[Holding],
    machine: ExporterMachine,
    options: Options,
) -> Iterator[tuple[dict[str, str], str]]:
    """To whom a metric is attributed, and with which value."""
    if not holders:
        yield {}, value
        return
    if not options.virtual:
        last = max(holders, key=lambda holder: machine.pods[holder.pod]["metadata"]["name"])
        yield _attributes(last, machine, with_uid=options.pod_uid), value
        return
    processes = name in _BY_PROCESS
    if processes:
        yield {}, value
    for holder in holders:
        attributes = _attributes(holder, machine, with_uid=processes or options.pod_uid)
        if holder.device.replica is not None:
            attributes["vgpu"] = str(holder.device.replica)
        yield attributes, by_pod.get(holder.pod, "0") if processes else value


def _attributes(holding: Holding, machine: ExporterMachine, *, with_uid: bool) -> dict[str, str]:
    metadata = machine.pods[holding.pod]["metadata"]
    found = {
        "container": holding.container,
        "namespace": metadata["namespace"],
        "pod": metadata["name"],
    }
    return {**found, "pod_uid": holding.pod} if with_uid else found


def _labels(machine: ExporterMachine, unit: Device, options: Options) -> dict[str, str]:
    found = {
        "gpu": str(unit.gpu),
        "UUID": f"GPU-{uuid.uuid5(_SPACE, f'{machine.node}/{unit.gpu}')}",
        "pci_bus_id": f"00000000:00:{0x1E - unit.gpu:02X}.0",
        "device": f"nvidia{unit.gpu}",
        "modelName": machine.hardware.product,
    }
    if unit.instance is not None:
        instances = machine.gpus[unit.gpu].instances
        found["GPU_I_PROFILE"] = instances[unit.instance].profile
        found["GPU_I_ID"] = str(
            _instance_ids([instance.profile for instance in instances])[unit.instance]
        )
    return {**found, options.hostname: machine.node}


def _instance_ids(profiles: Iterable[str]) -> list[int]:
    """Ids of GPU instances: counted per size from a first one, as nvidia-smi shows them."""
    given: dict[int, int] = {}
    found = []
    for profile in profiles:
        slices = _SLICES.match(profile)
        size = int(slices[1]) if slices else 1
        following = given.get(size, _FIRST_IDS.get(size, 7))
        given[size] = following + 1
        found.append(following)
    return found


def _memory_mib(machine: ExporterMachine, unit: Device) -> float:
    if unit.instance is not None:
        profile = machine.gpus[unit.gpu].instances[unit.instance].profile
        found = _MEMORY.search(profile)
        return float(found[1]) * 1024 if found else _UNKNOWN_MEMORY_MIB
    return float(machine.hardware.memory_mib or _UNKNOWN_MEMORY_MIB)


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in _TRUE
