"""What a node advertises and how it is labelled, by its hardware and the plugin's configuration.

Source: https://github.com/NVIDIA/k8s-device-plugin/tree/v0.20.0/internal, `rm/device_map.go` and
`lm/{nvml,resource}.go`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.lab.agent.config_file import Configuration
    from eks_gpushare.lab.agent.hardware import Hardware

PREFIX = "nvidia.com/"
"""What the names of all of NVIDIA's resources begin with."""
GPU = "nvidia.com/gpu"
"""The resource of a GPU that is neither renamed nor split."""
SHARED = ".shared"
"""What renaming adds."""
MPS_CAPABLE = "nvidia.com/mps.capable"
"""The label that lets the MPS daemon run on a node."""

_UNWANTED = re.compile(r"[^A-Za-z0-9-_. ]")


def advertised(hardware: Hardware, configuration: Configuration) -> dict[str, int]:
    """Resources and their counts.

    An entry for a resource that the node does not have is passed over, as the original does it:
    a misspelt name shares nothing.
    """
    count = hardware.count * configuration.replicas(GPU)
    shared = any(each.name == GPU for each in configuration.resources)
    if shared and configuration.renamed:
        return {GPU: 0, GPU + SHARED: count}
    return {GPU: count}


def labels(hardware: Hardware, configuration: Configuration) -> dict[str, str]:
    """Labels of GPU feature discovery, but for those of driver and CUDA versions."""
    replicas = configuration.replicas(GPU)
    shared = replicas > 1
    product = "-".join(_UNWANTED.sub("", hardware.product).split())
    if shared and not configuration.renamed:
        product += "-SHARED"
    major, minor = hardware.compute
    found = {
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.count": str(hardware.count),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/gpu.sharing-strategy": configuration.strategy if shared else "none",
        "nvidia.com/gpu.family": _family(major, minor),
        "nvidia.com/gpu.compute.major": str(major),
        "nvidia.com/gpu.compute.minor": str(minor),
        "nvidia.com/gpu.machine": hardware.machine,
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": str(hardware.mig_capable).lower(),
        MPS_CAPABLE: str(configuration.strategy == "mps").lower(),
    }
    if hardware.memory_mib is not None:
        found["nvidia.com/gpu.memory"] = str(hardware.memory_mib)
    if configuration.mig_strategy != "none":
        found["nvidia.com/mig.strategy"] = configuration.mig_strategy
    return found


def _family(major: int, minor: int) -> str:
    if major == 7:  # noqa: PLR2004 (two families share it)
        return "volta" if minor < 5 else "turing"  # noqa: PLR2004 (the same)
    if major == 8:  # noqa: PLR2004 (the same)
        return "ampere" if minor < 9 else "ada-lovelace"  # noqa: PLR2004 (the same)
    return {9: "hopper", 10: "blackwell", 12: "blackwell"}.get(major, "undefined")
