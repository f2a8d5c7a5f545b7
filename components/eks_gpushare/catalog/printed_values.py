"""Switches that templates of a chart only write out, where the text "false" is as good as false.

A template that asks for a value takes any text for true; one that has `enabled: {{ .Values.x }}`
makes of the text what it says. Which do so was read in the templates of every tag of
https://github.com/NVIDIA/gpu-operator, deployments/gpu-operator/templates, 2026-11-30.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_releases import is_before

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.chart_keys import Place

_NEVER: Final = ""
"""Of what no release asks for."""
_ASKED_SINCE: Final[Mapping[str, Mapping[str, str]]] = {
    "gpu-operator": {
        **dict.fromkeys(
            (
                *("ccManager.enabled", "dcgm.enabled", "dcgmExporter.enabled", "gfd.enabled"),
                *("devicePlugin.enabled", "draDriver.computeDomains.enabled", "psa.enabled"),
                *("driver.rdma.enabled", "driver.rdma.useHostMofed", "driver.usePrecompiled"),
                *("kataManager.enabled", "migManager.enabled", "nodeStatusExporter.enabled"),
                *("vfioManager.enabled", "vgpuDeviceManager.enabled", "vgpuManager.enabled"),
            ),
            _NEVER,
        ),
        "driver.enabled": "25.10.1",
        "cdi.enabled": "26.3.0",
        "toolkit.enabled": "26.7.0",
    },
}
_TEXTS: Final = ("true", "false")
"""What YAML takes for a switch without quotes, in every version of it."""


def is_printed(chart: str, place: Place, value: object, version: str | None) -> bool:
    """Whether the text of a switch does what a switch would.

    Args:
        chart: The chart's name.
        place: Of the value.
        value: What is given.
        version: The chart's; None where it is not known, so that it may be any.
    """
    since = _ASKED_SINCE.get(chart, {}).get(".".join(place))
    if since is None or value not in _TEXTS:
        return False
    return since == _NEVER or version is None or bool(version and is_before(version, since))
