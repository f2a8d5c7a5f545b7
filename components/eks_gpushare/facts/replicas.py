"""How many shares of a GPU are too many."""

from __future__ import annotations

from typing import Final

ADVISED_SLICES: Final = 8
"""Most pods that take turns on a GPU, by the advice of AWS:
https://docs.aws.amazon.com/eks/latest/userguide/device-management-nvidia-time-slicing.html."""


def are_many_slices(replicas: int, most: int = ADVISED_SLICES) -> bool:
    """Whether more pods take turns on a GPU than is advised."""
    return replicas > most
