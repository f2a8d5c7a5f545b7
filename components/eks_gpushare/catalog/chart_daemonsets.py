"""Where the DaemonSets of charts for GPUs go, by the charts' own values.

Source: `values.yaml` and templates of nvidia-device-plugin 0.20.0 with node-feature-discovery
0.19.0 below it, of gpu-operator v26.7.0, node-feature-discovery 0.19.0 and dcgm-exporter 4.8.2.
Lists in Helm values take the place of the chart's own as a whole.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Role: TypeAlias = Literal["plugin", "discovery", "nfd", "mps", "migManager", "exporter"]
"""What a DaemonSet does: the device plugin, GPU feature discovery, the worker of node feature
discovery, the MPS control daemon, MIG manager, the DCGM exporter."""
Path: TypeAlias = tuple[str, ...]
"""A place in a chart's values."""

NVIDIA_VENDOR: Final = "10de"
"""NVIDIA's number as a vendor of PCI devices."""
PLUGIN_CHART: Final = "nvidia-device-plugin"
OPERATOR_CHART: Final = "gpu-operator"
NFD_CHART: Final = "node-feature-discovery"
EXPORTER_CHART: Final = "dcgm-exporter"
HAMI_CHART: Final = "hami"
_VERSION: Final = re.compile(r"(?:[-:@](?:v?[0-9]|[${]).*)?(?:\.tgz)?")
"""What may follow a chart's name: others have charts such as AMD's `gpu-operator-charts`."""


class DaemonSetValues(NamedTuple):
    """One DaemonSet of a chart, and the values that decide where its pods go."""

    role: Role
    tolerations: Path
    default_tolerations: tuple[Mapping[str, str], ...] = ()
    empty_is_default: bool = False
    """Whether an empty list leaves the chart's own, as with the operator's."""
    node_selector: Path | None = None
    """None where no value says."""
    fixed_selector: Mapping[str, str] = MappingProxyType({})
    """What the chart selects nodes by, whatever the values."""
    affinity: Path | None = None
    default_terms: tuple[Mapping[str, Any], ...] = ()
    """Node selector terms that the chart requires, unless the values give others."""
    terms_since: str = ""
    """The first version that requires them."""
    switches: tuple[Path, ...] = ()
    """What switches it on or off; the first that is given counts."""
    on: bool = True
    """Whether it is there where no switch is given."""


def _one_of(key: str, value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}


_GPU_TAINT: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE: Final = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_PLUGIN_TOLERATIONS: Final = ({"key": "CriticalAddonsOnly", "operator": "Exists"}, _GPU_TAINT)
_PLUGIN_LABELS: Final = {
    f"feature.node.kubernetes.io/pci-{NVIDIA_VENDOR}.present": "true",
    "feature.node.kubernetes.io/cpu-model.vendor_id": "NVIDIA",
    "nvidia.com/gpu.present": "true",
}
PLUGIN_LABELS: Final = tuple(_PLUGIN_LABELS)
"""Labels by any of which the plugin's chart goes to a node."""
_PLUGIN_TERMS: Final = tuple(_one_of(key, value) for key, value in _PLUGIN_LABELS.items())
PLUGIN_TERMS_SINCE: Final = "0.15.0-rc.1"
"""The first version of the plugin's chart that keeps to labelled nodes; before, it is everywhere.

Source: values.yaml in deployments/helm/nvidia-device-plugin of NVIDIA/k8s-device-plugin, by tag.
"""
_OPERANDS: Final[Path] = ("daemonsets", "tolerations")


def _of_plugin(role: Role, **more: Any) -> DaemonSetValues:
    """All of the plugin's chart but NFD share tolerations, node selector and affinity."""
    return DaemonSetValues(
        role,
        ("tolerations",),
        _PLUGIN_TOLERATIONS,
        node_selector=("nodeSelector",),
        affinity=("affinity",),
        default_terms=_PLUGIN_TERMS,
        terms_since=PLUGIN_TERMS_SINCE,
        **more,
    )


def _operand(role: Role, label: str, switch: str, **more: Any) -> DaemonSetValues:
    """The operator gives all of its own one list, and picks nodes by labels that it sets."""
    selector = {f"nvidia.com/gpu.deploy.{label}": "true", **more.pop("selector", {})}
    return DaemonSetValues(
        role,
        _OPERANDS,
        (_GPU_TAINT,),
        empty_is_default=True,
        fixed_selector=selector,
        switches=((switch, "enabled"),),
        **more,
    )


def _worker(
    above: Path, tolerations: tuple[Mapping[str, str], ...], **more: Any
) -> DaemonSetValues:
    return DaemonSetValues(
        "nfd",
        (*above, "worker", "tolerations"),
        tolerations,
        node_selector=(*above, "worker", "nodeSelector"),
        affinity=(*above, "worker", "affinity"),
        **more,
    )


CHART_DAEMONSETS: Final[Mapping[str, tuple[DaemonSetValues, ...]]] = {
    PLUGIN_CHART: (
        _of_plugin("plugin", switches=(("devicePlugin", "enabled"),)),
        _of_plugin("discovery", switches=(("gfd", "enabled"),), on=False),
        _of_plugin(
            "mps",
            switches=(("devicePlugin", "enabled"),),
            fixed_selector={"nvidia.com/mps.capable": "true"},
        ),
        _worker(
            ("nfd",),
            (
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
            switches=(("nfd", "enabled"), ("gfd", "enabled")),
            on=False,
        ),
    ),
    OPERATOR_CHART: (
        _operand("plugin", "device-plugin", "devicePlugin"),
        _operand("discovery", "gpu-feature-discovery", "gfd"),
        _operand(
            "mps",
            "device-plugin",
            "devicePlugin",
            selector={"nvidia.com/mps.capable": "true"},
        ),
        _operand("migManager", "mig-manager", "migManager"),
        _operand("exporter", "dcgm-exporter", "dcgmExporter"),
        _worker(
            (NFD_CHART,),
            (
                {
                    "key": "node-role.kubernetes.io/control-plane",
                    "operator": "Equal",
                    "value": "",
                    "effect": "NoSchedule",
                },
                _GPU_TAINT,
            ),
            switches=(("nfd", "enabled"),),
        ),
    ),
    NFD_CHART: (_worker((), (), switches=(("worker", "enable"),)),),
    EXPORTER_CHART: (
        DaemonSetValues(
            "exporter",
            ("tolerations",),
            (_CONTROL_PLANE,),
            node_selector=("nodeSelector",),
            affinity=("affinity",),
        ),
    ),
}
"""The DaemonSets of each chart."""
LOST_WITHOUT_NFD: Final[Mapping[str, str]] = {
    PLUGIN_CHART: "without it no label of GPU feature discovery gets to a node, and no MPS daemon "
    "starts",
    OPERATOR_CHART: "without it the operator finds no node with a GPU",
}
"""What charts cannot do without node feature discovery."""


def chart_of(name: str) -> str | None:
    """Which of the charts a name, a path, an archive or an address is, if one of them."""
    return named_among(CHART_DAEMONSETS, name)


def named_among(charts: Iterable[str], name: str) -> str | None:
    """Which of some charts a name, a path, an archive or an address is, a version behind it."""
    last = name.rstrip("/").rpartition("/")[2]
    begun = (chart for chart in charts if last.startswith(chart))
    return next((chart for chart in begun if _VERSION.fullmatch(last[len(chart) :])), None)
