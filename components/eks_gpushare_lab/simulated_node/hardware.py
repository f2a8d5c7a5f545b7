"""The GPUs that a simulated node has, by its instance type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_gpushare.catalog import gpu_instance_types, mps_client_limit
from eks_gpushare.catalog.mig import mig_model

if TYPE_CHECKING:
    from eks_gpushare.catalog.mig import MigModel

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
"""The label that says what the simulated machine is."""

# What NVML calls the GPUs that EC2 calls so, by EC2's memory where that tells two apart. Names as
# NVIDIA's driver reports them; public GPU feature discovery labels show the same.
_PRODUCTS: dict[str, str] = {
    "A100": "NVIDIA A100-SXM4-40GB",
    "A10G": "NVIDIA A10G",
    "B200": "NVIDIA B200",
    "B300": "NVIDIA B300 SXM6 AC",
    "GB200": "NVIDIA GB200",
    "H100": "NVIDIA H100 80GB HBM3",
    "H200": "NVIDIA H200",
    "L4": "NVIDIA L4",
    "L40S": "NVIDIA L40S",
    "RTX PRO 4500": "NVIDIA RTX PRO 4500 Blackwell Server Edition",
    "RTX PRO Server 6000": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "T4": "Tesla T4",
    "T4g": "NVIDIA T4G",
    "V100": "Tesla V100-SXM2-16GB",
}
_LARGER: dict[tuple[str, int], str] = {
    ("A100", 81920): "NVIDIA A100-SXM4-80GB",
    ("V100", 32768): "Tesla V100-SXM2-32GB",
}
# PCI device ids of these boards, from NVIDIA's own list and not from the catalog, by which the
# planner makes its filters: NVIDIA/open-gpu-kernel-modules 610.43.03, README.md, Compatible GPUs.
_DEVICE_IDS: dict[str, str] = {
    "NVIDIA A100-SXM4-40GB": "0x20B0",
    "NVIDIA A100-SXM4-80GB": "0x20B2",
    "NVIDIA B200": "0x2901",
    "NVIDIA B300 SXM6 AC": "0x3182",
    "NVIDIA GB200": "0x2941",
    "NVIDIA H100 80GB HBM3": "0x2330",
    "NVIDIA H200": "0x2335",
    "NVIDIA RTX PRO 4500 Blackwell Server Edition": "0x2C3A",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "0x2BB5",
}


@dataclass(frozen=True, slots=True)
class Hardware:
    """The GPUs of one node, all alike. Their MIG instances are not here: see gpus.py."""

    count: int
    """How many the driver shows."""
    product: str
    """Name as the driver reports it, such as "Tesla V100-SXM2-16GB"."""
    memory_mib: int | None
    """Memory of one as NVML reports it; None if that is not known, whatever EC2 says."""
    compute: tuple[int, int]
    """CUDA compute capability."""
    mig_capable: bool
    """Whether MIG could split it."""
    mps_clients: int
    """Clients that the MPS daemon allows on one."""
    machine: str
    """Instance type."""
    mig: MigModel | None = None
    """What MIG can make of one; None if it has no MIG or the catalog does not know its geometry."""
    device_id: str = ""
    """PCI device id of a board with MIG, such as "0x20B0"; `""` if it has none."""
    is_part: bool = False
    """Whether each is a part of a board that EC2's host has divided, as on g6f."""

    @property
    def is_ampere(self) -> bool:
        """Whether MIG mode changes only when the GPU is reset: on EC2, when the machine reboots."""
        return self.compute[0] == 8  # noqa: PLR2004  (compute capability of Ampere)


def hardware_of(instance_type: str) -> Hardware | None:
    """The GPUs of an instance type, or None if it has none that the catalog knows."""
    found = gpu_instance_types().get(instance_type)
    if found is None or found.gpu is None:
        return None
    gpu = found.gpu
    larger = _LARGER.get((gpu.model, gpu.ec2_memory_mib or 0))
    product = larger or _PRODUCTS.get(gpu.model, gpu.model)
    return Hardware(
        found.gpu_count,
        product,
        None if gpu.memory_estimated else gpu.memory_mib,
        gpu.compute_capability,
        gpu.mig_capable,
        mps_client_limit(gpu),
        instance_type,
        mig_model(gpu),
        _DEVICE_IDS.get(product, ""),
        is_part=found.gpu_fraction != 1,
    )
