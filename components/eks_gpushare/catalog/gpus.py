"""Facts about NVIDIA GPUs that hold whatever instance type they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import Gpu

# k8s-device-plugin 0.20.0, cmd/mps-control-daemon/mps/device.go: its daemon refuses more replicas
# of a GPU than this. It means to ask for Volta, whose hardware takes 48 clients too, but compares
# with 7.5, so a V100 (7.0) gets the smaller number.
MPS_CLIENTS = 48
MPS_CLIENTS_BEFORE_TURING = 16
MPS_FULL_LIMIT_FROM = (7, 5)
BFLOAT16_FROM = (8, 0)
"""First compute capability that computes in bfloat16.
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions"""

QUANTIZED_FROM = {
    "awq": ((7, 5), (7, 5)),
    "awq_marlin": ((7, 5), (8, 0)),
    "fp8": ((7, 5), (8, 0)),
    "gptq_marlin": ((7, 5), (8, 0)),
}
"""First compute capability on which vLLM has a quantization, of any release and up to 0.11.

`get_min_capability` in vllm/model_executor/layers/quantization of vllm-project/vllm, and the table
in docs/features/quantization/README.md there, read 2026-11-29."""
SGLANG_FROM = (7, 5)
"""First compute capability on which SGLang starts: "SGLang only supports sm75 and above", in
python/sglang/srt/model_executor/model_runner.py of sgl-project/sglang, read 2026-11-29."""

CUDA_OF_LATE = (12, 8)
COMPATIBLE_BRANCHES = (470, 535, 550, 560, 565)
FIRST_WITH_IT = 570
"""The branch of the driver that has CUDA 12.8, and those before it on which images of that CUDA
start all the same; images of a later one are for fewer. NVIDIA's container runtime goes by
NVIDIA_REQUIRE_CUDA of the image: of nvidia/cuda:12.8.1-cudnn-runtime-ubuntu22.04, 2026-09-29."""


def memory_text(gpu: Gpu) -> str:
    """The memory of one GPU for a message, which says so where it is not the driver's figure."""
    if gpu.memory_mib is None:
        return "unknown memory"
    return f"about {gpu.memory_mib} MiB" if gpu.memory_estimated else f"{gpu.memory_mib} MiB"


def mps_client_limit(gpu: Gpu) -> int:
    """How many MPS clients one GPU takes: 48, or 16 below compute capability 7.5."""
    if gpu.compute_capability < MPS_FULL_LIMIT_FROM:
        return MPS_CLIENTS_BEFORE_TURING
    return MPS_CLIENTS
