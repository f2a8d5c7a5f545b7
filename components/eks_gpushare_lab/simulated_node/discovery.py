"""Labels of GPU feature discovery, but for those of driver and CUDA versions.

The memory of a GPU is left out where what its driver reports is not known.

Source: NVIDIA/k8s-device-plugin, internal/lm, `nvml.go`,
`resource.go`, `mig-strategy.go` and `vgpu.go`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.advertising import GPU, MIG, DevicesError, devices, resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.catalog.mig import Profile
    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware

MPS_CAPABLE = "nvidia.com/mps.capable"
"""The label that lets the MPS daemon run on a node."""
STRATEGY = "nvidia.com/mig.strategy"
"""The label with the plugin's MIG strategy, absent where it is none."""

_UNWANTED = re.compile(r"[^A-Za-z0-9-_. ]")


def labels(
    hardware: Hardware, gpus: Sequence[SimulatedGpu], configuration: Configuration
) -> dict[str, str]:
    """The labels of a node.

    Raises:
        DevicesError: If the program would stop.
    """
    if configuration.strategy == "mps" and any(gpu.mig for gpu in gpus):
        message = "MPS sharing is not supported for mig devices"
        raise DevicesError(
            f"error creating sharing labeler: failed to check MPS-capable: {message}"
        )
    found = {
        **_of_gpus(hardware, gpus, configuration),
        "nvidia.com/gpu.machine": hardware.machine,
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": str(hardware.mig_capable).lower(),
        MPS_CAPABLE: str(configuration.strategy == "mps").lower(),
    }
    if not hardware.is_part:  # of a part of a GPU it tells the host's driver as well
        found["nvidia.com/vgpu.present"] = "false"
    if configuration.mig_strategy != "none":
        found[STRATEGY] = configuration.mig_strategy
    if configuration.mig_strategy == "single":
        found |= _single(hardware, gpus, configuration)
    if configuration.mig_strategy == "mixed":
        for profile, count in _instances(gpus).items():
            found |= _of_instances(hardware, resource(profile), profile, count, configuration)
    return found


def stale(there: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Labels of a node about MIG that are not published any more."""
    return [key for key in there if key.startswith((MIG, STRATEGY)) and key not in now]


def _of_gpus(
    hardware: Hardware, gpus: Sequence[SimulatedGpu], configuration: Configuration
) -> dict[str, str]:
    # Of GPUs with and without MIG the original describes those without, and counts both.
    split = all(gpu.mig for gpu in gpus)
    replicas = 0 if split else configuration.replicas_in_labels(GPU)
    major, minor = hardware.compute
    found = _base(GPU, [hardware.product], len(gpus), replicas, configuration)
    found |= {
        f"{GPU}.family": _family(major, minor),
        f"{GPU}.compute.major": str(major),
        f"{GPU}.compute.minor": str(minor),
    }
    if hardware.memory_mib is not None:
        found[f"{GPU}.memory"] = str(hardware.memory_mib)
    return found


def _single(
    hardware: Hardware, gpus: Sequence[SimulatedGpu], configuration: Configuration
) -> dict[str, str]:
    if not any(gpu.mig for gpu in gpus):
        return {}
    try:
        devices(gpus, "single")
    except DevicesError:
        return {
            f"{GPU}.product": f"{_product([hardware.product])}-MIG-INVALID",
            f"{GPU}.count": "0",
            f"{GPU}.replicas": "0",
            f"{GPU}.sharing-strategy": "",
            f"{GPU}.memory": "0",
        }
    ((profile, count),) = _instances(gpus).items()
    return _of_instances(hardware, GPU, profile, count, configuration)


def _of_instances(
    hardware: Hardware, name: str, profile: str, count: int, configuration: Configuration
) -> dict[str, str]:
    parts = [hardware.product, "MIG", profile.replace("+", ".")]
    found = _base(name, parts, count, configuration.replicas_in_labels(name), configuration)
    of_profile = hardware.mig.profiles.get(profile) if hardware.mig else None
    if of_profile is not None:
        found |= {f"{name}.{key}": str(value) for key, value in _attributes(of_profile).items()}
    return found


def _attributes(profile: Profile) -> dict[str, int]:
    """What the driver tells of an instance, as far as the catalog knows it."""
    found = {"slices.gi": profile.compute_slices, "slices.ci": profile.compute_slices}
    if profile.memory_mib is not None:
        found["memory"] = profile.memory_mib
    if profile.multiprocessors is not None:
        found["multiprocessors"] = profile.multiprocessors
    return found


def _base(
    name: str, parts: Sequence[str], count: int, replicas: int, configuration: Configuration
) -> dict[str, str]:
    shared = replicas > 1
    product = _product(parts)
    if shared and not configuration.renamed:
        product += "-SHARED"
    return {
        f"{name}.product": product,
        f"{name}.count": str(count),
        f"{name}.replicas": str(replicas),
        f"{name}.sharing-strategy": configuration.strategy if shared else "none",
    }


def _product(parts: Sequence[str]) -> str:
    return "-".join("-".join(_UNWANTED.sub("", part).split()) for part in parts)


def _instances(gpus: Sequence[SimulatedGpu]) -> Counter[str]:
    return Counter(instance.profile for gpu in gpus for instance in gpu.instances)


def _family(major: int, minor: int) -> str:
    if major == 7:  # noqa: PLR2004  (two families share it)
        return "volta" if minor < 5 else "turing"  # noqa: PLR2004  (the same)
    if major == 8:  # noqa: PLR2004  (the same)
        return "ampere" if minor < 9 else "ada-lovelace"  # noqa: PLR2004  (the same)
    return {9: "hopper", 10: "blackwell", 12: "blackwell", 13: "rubin"}.get(major, "undefined")
