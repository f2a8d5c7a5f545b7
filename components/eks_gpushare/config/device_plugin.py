"""What the device plugin needs to know, where it is installed apart from an environment."""

from __future__ import annotations

from eks_gpushare.config.base import Model
from eks_gpushare.config.environment import CatalogAdditions, Chart
from eks_gpushare.config.pools import Pool


class DevicePluginSpec(Model):
    """The pools that the plugin serves, and its chart."""

    pools: dict[str, Pool]
    """The pools, by name."""
    namespace: str | None = None
    """Namespace. Default: nvidia-device-plugin."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts this release does not know or has wrong."""
