"""The DaemonSets of a Helm chart, as its values make them.

The lab runs no charts: there are no containers to run. What decides which nodes NVIDIA's programs
reach, and how they are configured, is in the charts' templates; here the same is made of the same
values. Names, defaults and their source are in data/daemonsets.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.install import device_plugin_chart, gpu_operator_chart
from eks_gpushare_lab.install.release import charts

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import Release

_MAKERS = {
    "nvidia-device-plugin": device_plugin_chart.render,
    "gpu-operator": gpu_operator_chart.render,
}


def knows(release: Release) -> bool:
    """Whether the lab knows what a release would install."""
    return release.chart in charts()


def render(release: Release) -> list[Object]:
    """The objects that matter here of those that a release would install.

    Raises:
        ChartError: If the chart would refuse the values.
    """
    return list(_MAKERS[release.chart](release))


def operands(release: Release) -> list[Object]:
    """What of those objects the release's programs would make, and not Helm.

    There are no programs: where Helm itself installs the chart, these are still to be applied.
    """
    if release.chart != "gpu-operator":
        return []
    return list(gpu_operator_chart.operands(release))
