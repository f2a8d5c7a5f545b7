"""The GPUs of a pool, told to NVIDIA's mock of NVML by its configuration file.

Source: NVIDIA/k8s-test-infra, `pkg/gpu/mocknvml`. A library that is no such mock does not read it,
and `nvml_view.py` sees what it shows instead.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware

VARIABLE = "MOCK_NVML_CONFIG"
"""The variable that names the file."""
_DRIVER = "580.65.06"
_INSTANCES = 7


def configuration(hardware: Hardware, gpus: Sequence[SimulatedGpu]) -> str:
    """The text of the file: JSON, which is YAML."""
    major, minor = hardware.compute
    memory = {} if hardware.memory_mib is None else _memory(hardware.memory_mib)
    document = {
        "version": "1.0",
        "system": {
            "driver_version": _DRIVER,
            "nvml_version": f"13.{_DRIVER}",
            "cuda_version": "13.0",
            "cuda_version_major": 13,
            "cuda_version_minor": 0,
        },
        "device_defaults": {
            "name": hardware.product,
            "compute_capability": {"major": major, "minor": minor},
            **memory,
        },
        "devices": [_device(number, gpu, hardware) for number, gpu in enumerate(gpus)],
    }
    return json.dumps(document, indent=1)


def _memory(mib: int) -> dict[str, Any]:
    size = mib << 20
    return {"memory": {"total_bytes": size, "free_bytes": size, "used_bytes": 0}}


def _device(number: int, gpu: SimulatedGpu, hardware: Hardware) -> Mapping[str, Any]:
    mode = "enabled" if gpu.mig else "disabled"
    instances = [
        {"id": order, "profile": instance.profile, "placement_start": instance.start}
        for order, instance in enumerate(gpu.instances, 1)
    ]
    mig = {"mode_current": mode, "mode_pending": mode, "max_gpu_instances": _INSTANCES}
    return {
        "index": number,
        "uuid": f"GPU-00000000-0000-4000-8000-{number:012d}",
        "minor_number": number,
        "pci": {"bus_id": f"0000:{number + 1:02X}:00.0"},
        **({"mig": {**mig, "instances": instances}} if hardware.mig_capable else {}),
    }
