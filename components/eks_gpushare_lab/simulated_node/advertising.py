"""What a node advertises, by its GPUs as they are partitioned and the plugin's configuration.

Source: NVIDIA/k8s-device-plugin 0.20.0, internal, `rm/device_map.go`
(`updateDeviceMapWithReplicas`) and `plugin/mps.go`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu

PREFIX = "nvidia.com/"
"""What the names of all of NVIDIA's resources begin with."""
GPU = "nvidia.com/gpu"
"""The resource of a GPU that is neither renamed nor split."""
MIG = "nvidia.com/mig-"
"""What the mixed strategy puts before the name of a profile."""
SHARED = ".shared"
"""What renaming adds."""
MOST_BYTES = 4 << 20
"""The longest list of devices that the kubelet takes: gRPC's default, which it leaves as it is."""

_ID_BYTES = len("GPU-00000000-0000-0000-0000-000000000000")
_REPLICA_BYTES = len("::")
_AROUND_BYTES = 2 + 2 + len("Healthy") + 2
"""Of each device beside its id: tags and lengths of protobuf, and its health."""

_MAP = "error starting plugins: error getting plugins: unable to create plugins"
_INVALID = (
    f"{_MAP}: failed to construct resource managers: error building device map: "
    "error building device map from config.resources"
)


class DevicesError(Exception):
    """The plugin stops: it cannot serve the GPUs as they are. The text is the original's."""


def advertised(gpus: Sequence[SimulatedGpu], configuration: Configuration) -> dict[str, int]:
    """Resources and their counts.

    An entry for a resource that the node does not have is passed over, as the original does it:
    a misspelt name shares nothing. A resource that was renamed is not among them: no plugin starts
    for it, so that only a node which advertised it before goes on to show it, at 0.

    Raises:
        DevicesError: If the plugin would stop.
    """
    found: dict[str, int] = {}
    for name, count in devices(gpus, configuration.mig_strategy).items():
        replicas = configuration.replicas(name)
        shared = any(replicated.name == name for replicated in configuration.resources)
        if shared and configuration.strategy == "mps" and _are_instances(gpus, configuration):
            message = "sharing using MPS is not supported for MIG devices"
            raise DevicesError(f"{_MAP}: failed to create plugin: {message}")
        if shared and configuration.renamed:
            found[name + SHARED] = count * replicas
        else:
            found[name] = count * replicas
    return found


def unlisted(gpus: Sequence[SimulatedGpu], configuration: Configuration) -> dict[str, int]:
    """Resources whose devices the kubelet never gets, with the length of their list in bytes.

    The plugin registers such a resource and runs on; the kubelet has none of it. Where the machine
    tells of NUMA nodes a list is longer by some bytes for each device.
    """
    found = {}
    for name, count in devices(gpus, configuration.mig_strategy).items():
        replicas = configuration.replicas(name)
        size = count * replicas * (_ID_BYTES + _AROUND_BYTES)
        if any(replicated.name == name for replicated in configuration.resources):
            size += count * (replicas * _REPLICA_BYTES + _digits(replicas))
        if size > MOST_BYTES:
            found[name + SHARED if configuration.renamed else name] = size
    return found


def _digits(end: int) -> int:
    """Digits of all numbers below one together."""
    found, low, length = 0, 0, 1
    while low < end:
        high = min(end, 10**length)
        found += length * (high - low)
        low, length = high, length + 1
    return found


def devices(gpus: Sequence[SimulatedGpu], strategy: str) -> dict[str, int]:
    """Devices by resource before any is shared.

    Args:
        gpus: of the node.
        strategy: none, single or mixed.

    Raises:
        DevicesError: If the strategy does not fit the GPUs.
    """
    if strategy == "none":
        return {GPU: len(gpus)}
    plain = sum(not gpu.mig for gpu in gpus)
    whole = {GPU: plain} if plain else {}
    instances = Counter(instance.profile for gpu in gpus for instance in gpu.instances)
    if strategy == "mixed":
        return whole | {resource(profile): count for profile, count in instances.items()}
    empty = [number for number, gpu in enumerate(gpus) if gpu.mig and not gpu.instances]
    if empty:
        message = f"device {empty[0]} has no MIG devices configured"
        where = "at least one device with migEnabled=true was not configured correctly"
        raise DevicesError(f"{_INVALID}: invalid MIG configuration: {where}: {message}")
    if len(instances) > 1:
        message = "more than one MIG device type present on node"
        raise DevicesError(f"{_INVALID}: invalid MIG configuration: {message}")
    if plain and instances:
        message = "all devices on the node must be configured with the same migEnabled value"
        raise DevicesError(f"{_INVALID}: {message}")
    return whole or {GPU: sum(instances.values())}


def resource(profile: str) -> str:
    """Resource of a profile under the mixed strategy: `+` is no letter for a resource."""
    return MIG + profile.replace("+", ".")


def _are_instances(gpus: Sequence[SimulatedGpu], configuration: Configuration) -> bool:
    return configuration.mig_strategy != "none" and any(gpu.instances for gpu in gpus)
