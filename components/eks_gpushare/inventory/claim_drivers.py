"""NVIDIA's driver for claims of devices, as its chart is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, switch

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Release

DRIVER_CHARTS = ("nvidia-dra-driver-gpu", "dra-driver-nvidia-gpu")
"""Names of the chart of NVIDIA's driver for claims, the old one and the new."""


def gives_gpus(release: Release) -> bool:
    """Whether a release is a DRA driver that gives out GPUs, which it has to be told twice."""
    if not release.chart.rpartition("/")[2].startswith(DRIVER_CHARTS):
        return False
    override = at(release.values, "gpuResourcesEnabledOverride")
    gpus = at(release.values, "resources", "gpus", "enabled")
    return switch(override) is True and gpus is not False and gpus is not UNKNOWN
