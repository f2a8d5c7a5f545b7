"""A rule about what programs take of the memory of GPUs that are shared."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

RESERVES_MEMORY: Final = Rule(
    "GPU1209",
    "warning",
    "Programs whose pods share a GPU by time slices leave memory to each other.",
    "Time slicing divides no memory: the first pod reserves it at its start, and the next one on "
    "that GPU ends with an out of memory error.",
    "https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth",
)
