"""Rules about sharing that is configured, and comes to nothing on the nodes that it is for."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

NOTHING_OF_THAT_NAME: Final = Rule(
    "GPU1136",
    "error",
    "Sharing names a resource that the nodes of its configuration have.",
    "With the MIG strategy mixed a node whose GPUs are all cut has devices such as "
    "nvidia.com/mig-1g.5gb and no nvidia.com/gpu, and with single it has nvidia.com/gpu alone. The "
    "plugin passes over an entry of any other name, and each device is for one pod.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-time-slicing",
)
ONE_PROCESS: Final = Rule(
    "GPU1137",
    "error",
    "GPUs that pods share by time slices are left in the compute mode DEFAULT.",
    "In EXCLUSIVE_PROCESS a GPU has one process at a time, and the second pod's CUDA ends with "
    "cudaErrorDevicesUnavailable. MPS sets that mode by itself, and its server is the process.",
    "https://docs.nvidia.com/deploy/mps/index.html#gpu-compute-modes",
)
