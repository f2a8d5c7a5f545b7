"""Where the pods of NVIDIA's charts go, by the charts' own values.

Source: `values.yaml` of nvidia-device-plugin 0.20.0 with node-feature-discovery 0.19.0 below it,
and of gpu-operator v26.7.0. A test holds them against what Helm renders of the charts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NVIDIA = "10de"
"""NVIDIA's number as a vendor of PCI devices."""

_GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def _one_of(key: str, value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}


@dataclass(frozen=True, slots=True)
class ChartDefaults:
    """One chart that runs the device plugin."""

    plugin: tuple[str, ...]
    """Path of the plugin's tolerations in the values."""
    plugin_tolerations: Sequence[Mapping[str, str]]
    worker: tuple[str, ...]
    """Path of the tolerations of NFD's worker, which labels nodes with a GPU."""
    worker_tolerations: Sequence[Mapping[str, str]]
    nfd_switches: tuple[tuple[str, ...], ...]
    """Paths of the switches of NFD, of which the first that is given counts."""
    nfd_enabled: bool
    """Whether NFD runs where no switch is given."""
    affinity: Sequence[Mapping[str, Any]] | None
    """Node selector terms of the plugin, of which one has to fit; None if NFD's labels always have
    to be there."""


CHARTS: Mapping[str, ChartDefaults] = {
    "nvidia-device-plugin": ChartDefaults(
        plugin=("tolerations",),
        plugin_tolerations=({"key": "CriticalAddonsOnly", "operator": "Exists"}, _GPU_TAINT),
        worker=("nfd", "worker", "tolerations"),
        worker_tolerations=(
            {
                "key": "node-role.kubernetes.io/master",
                "operator": "Equal",
                "value": "",
                "effect": "NoSchedule",
            },
            {
                "key": "nvidia.com/gpu",
                "operator": "Equal",
                "value": "present",
                "effect": "NoSchedule",
            },
        ),
        nfd_switches=(("nfd", "enabled"), ("gfd", "enabled")),
        nfd_enabled=False,
        affinity=(
            _one_of(f"feature.node.kubernetes.io/pci-{NVIDIA}.present", "true"),
            _one_of("feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA"),
            _one_of("nvidia.com/gpu.present", "true"),
        ),
    ),
    "gpu-operator": ChartDefaults(
        plugin=("daemonsets", "tolerations"),
        plugin_tolerations=(_GPU_TAINT,),
        worker=("node-feature-discovery", "worker", "tolerations"),
        worker_tolerations=(
            {
                "key": "node-role.kubernetes.io/control-plane",
                "operator": "Equal",
                "value": "",
                "effect": "NoSchedule",
            },
            _GPU_TAINT,
        ),
        nfd_switches=(("nfd", "enabled"),),
        nfd_enabled=True,
        # The operator sets its own labels, and takes one that is set by hand away without NFD's.
        affinity=None,
    ),
}
"""Chart to its defaults."""


def chart_of(name: str) -> str | None:
    """Which of the charts a name, a path, an archive or an address is, if one of them."""
    last = name.rstrip("/").rpartition("/")[2]
    return next((chart for chart in CHARTS if last.startswith(chart)), None)
