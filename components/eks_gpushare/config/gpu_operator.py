"""What the GPU Operator needs to know, where it is installed apart from an environment."""

from __future__ import annotations

from eks_gpushare.config.base import Model
from eks_gpushare.config.environment import CatalogAdditions, Chart
from eks_gpushare.config.pools import Pool


class GpuOperatorSpec(Model):
    """The pools that the operator serves, and its chart."""

    pools: dict[str, Pool]
    """The pools, by name."""
    namespace: str | None = None
    """Namespace. Default: gpu-operator."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""
    mig_taint_remover_image: str | None = None
    """Image with Python 3.11 or later for the controller that frees nodes with MIG layouts."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts this release does not know or has wrong."""
