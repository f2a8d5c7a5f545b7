"""Which devices of a simulated node its pods hold, as the kubelet's device manager gives them out.

Of replicas, the device plugin proposes those of the GPU that has given out the fewest; what is not
shared goes out in order. A pod keeps what it has until it ends.

Source: NVIDIA/k8s-device-plugin, internal/rm, `allocate.go` (`distributedAlloc`, `alignedAlloc`);
kubernetes, pkg/kubelet/cm/devicemanager.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.live.amounts import quantity
from eks_gpushare_lab.simulated_node.advertising import GPU, PREFIX, SHARED, resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu

_ENDED = ("Succeeded", "Failed")


class Device(NamedTuple):
    """One device as the plugin lists it: a GPU or an instance, or one share of it."""

    gpu: int
    """Index of the GPU."""
    instance: int | None = None
    """Index of the instance among those of its GPU; None for a whole GPU."""
    replica: int | None = None
    """Number of the share; None where nothing is shared."""

    @property
    def whole(self) -> Device:
        """What it is a share of."""
        return self._replace(replica=None)


class Holding(NamedTuple):
    """A device in the hands of a container."""

    pod: str
    """UID of the pod."""
    container: str
    """Name of the container."""
    resource: str
    """The resource that it was asked for by."""
    device: Device
    """What it is."""


def devices(gpus: Sequence[SimulatedGpu], configuration: Configuration) -> dict[str, list[Device]]:
    """What the plugin lists, by the resource that pods ask for."""
    found: dict[str, list[Device]] = {}
    for name, wholes in _wholes(gpus, configuration.mig_strategy).items():
        replicas = configuration.replicas(name)
        if not any(replicated.name == name for replicated in configuration.resources):
            found[name] = wholes
            continue
        shown = name + SHARED if configuration.renamed else name
        found[shown] = [whole._replace(replica=n) for whole in wholes for n in range(replicas)]
    return found


def _wholes(gpus: Sequence[SimulatedGpu], strategy: str) -> dict[str, list[Device]]:
    found: dict[str, list[Device]] = {}
    for index, gpu in enumerate(gpus):
        if strategy == "none" or not gpu.mig:
            found.setdefault(GPU, []).append(Device(index))
            continue
        for number, instance in enumerate(gpu.instances):
            name = GPU if strategy == "single" else resource(instance.profile)
            found.setdefault(name, []).append(Device(index, number))
    return found


class DeviceManager:
    """The kubelet's book of one node."""

    def __init__(self) -> None:
        """Begin with nothing given out."""
        self.holdings: tuple[Holding, ...] = ()
        """What is given out."""

    def update(self, listed: Mapping[str, Sequence[Device]], pods: Sequence[Object]) -> None:
        """Take back what pods that have ended held, and give to those that have none yet.

        A pod for which too little is left gets nothing: the scheduler has not seen yet what the
        node has now.

        Args:
            listed: by resource, what the plugin lists.
            pods: those that are bound to the node.
        """
        alive = {p["metadata"]["uid"]: p for p in pods if p["status"].get("phase") not in _ENDED}
        there = {(name, device) for name, every in listed.items() for device in every}
        kept = [h for h in self.holdings if h.pod in alive and (h.resource, h.device) in there]
        have = {share.pod for share in kept}
        for uid, pod in sorted(alive.items(), key=lambda item: _age(item[1])):
            if uid not in have:
                kept += _given(pod, listed, kept)
        self.holdings = tuple(kept)


def _given(
    pod: Object, listed: Mapping[str, Sequence[Device]], held: Sequence[Holding]
) -> list[Holding]:
    found: list[Holding] = []
    for container in pod["spec"]["containers"]:
        for name, count in _asked(container).items():
            taken = [share.device for share in (*held, *found) if share.resource == name]
            for _ in range(count):
                free = [device for device in listed.get(name, ()) if device not in taken]
                if not free:
                    return []
                load = Counter(device.whole for device in taken)
                chosen = min(free, key=lambda device: load[device.whole])
                taken.append(chosen)
                found.append(Holding(pod["metadata"]["uid"], container["name"], name, chosen))
    return found


def _asked(container: Object) -> dict[str, int]:
    limits = (container.get("resources") or {}).get("limits") or {}
    return {k: int(quantity(count)) for k, count in limits.items() if k.startswith(PREFIX)}


def _age(pod: Object) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["uid"]
