"""What sizes of Azure's node pools have of GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Pointer

_OF_NVIDIA: Final = re.compile(
    r"Standard_N(?!V[0-9]+as_v4)[CDV][0-9](?!.*(?:MI300|V710)).*", re.IGNORECASE
)
"""Sizes with GPUs, but for those of AMD."""


def has_nvidia_gpus(pool: Pointer) -> bool | None:
    """Whether a pool's size has GPUs of NVIDIA; None where its size is not known."""
    size = at(pool.spec, "vm_size")
    return _OF_NVIDIA.fullmatch(size) is not None if isinstance(size, str) else None
