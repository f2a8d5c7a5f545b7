"""The DaemonSets of a Helm chart, as its values make them.

The lab runs no charts: there are no containers to run. What decides which nodes NVIDIA's programs
reach, and how they are configured, is in the charts' templates; here the same is made of the same
values. Names, defaults and where the pods go are in data/daemonsets.json, which is made of each
chart version's rendered templates by `tools/catalog/daemonsets.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare_lab import rules
from eks_gpushare_lab.install import (
    device_plugin_chart,
    efa_plugin_chart,
    exporter_chart,
    gpu_operator_chart,
)
from eks_gpushare_lab.install.release import facts_of, known_versions
from eks_gpushare_lab.simulated_node.pods import EXPORTER

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.release import DeclaredRelease

_PLUGIN, _OPERATOR, _EFA = "nvidia-device-plugin", "gpu-operator", "aws-efa-k8s-device-plugin"
_MAKERS = {
    _PLUGIN: device_plugin_chart.render,
    _OPERATOR: gpu_operator_chart.render,
    _EFA: efa_plugin_chart.render,
    EXPORTER: exporter_chart.render,
}
_PROGRAMS = ("karpenter", "karpenter-crd", "cluster-autoscaler", "keda", "kueue")
"""Charts of which nothing is rendered: their programs run beside the control plane, and of their
modules are the definitions."""
_STOOD_IN_FOR = ("kube-prometheus-stack",)
"""Charts of which nothing is rendered: the lab has a Prometheus of its own, with stand-ins for what
it scrapes and for its operator's kinds."""
_KEYS = {
    _PLUGIN: "devicePlugin",
    _OPERATOR: "gpuOperator",
    _EFA: "efaDevicePlugin",
    EXPORTER: "dcgmExporter",
}


def render(release: DeclaredRelease) -> list[Object]:
    """The objects that matter here of those that a release would install.

    Raises:
        UnknownChartError: If the lab does not know the chart in this version.
        ChartError: If the chart would refuse the values.
    """
    if release.chart in {*_PROGRAMS, *_STOOD_IN_FOR}:
        return []
    facts_of(release)
    return list(_MAKERS[release.chart](release))


def operands(release: DeclaredRelease) -> list[Object]:
    """What of those objects the release's programs would make, and not Helm.

    There are no programs: where Helm itself installs the chart, these are still to be applied.

    Raises:
        UnknownChartError: If the lab knows other versions of the chart only.
    """
    if release.chart != _OPERATOR:
        return []
    return list(gpu_operator_chart.operands(release))


def unknown(release: DeclaredRelease) -> Finding:
    """Why nothing of a release is there whose chart the lab does not know.

    An error where the chart is one of those that the lab is there for: then nothing about the nodes
    is proven.
    """
    at, chart = ("releases", release.name), release.chart
    known = ", ".join(known_versions(chart))
    if not known:
        message = f"The lab knows no chart {chart}; nothing of {release.name} is there."
        fix = "Nothing, if no pod of the chart matters here; else apply its manifests."
        return rules.UNKNOWN_CHART.finding(at, message, fix)
    given = f"installs {chart} {release.version}"
    if not release.version:
        given = f"does not say which version of {chart} it installs"
    message = (
        f"The release {given}, and the lab knows the DaemonSets of {known} only: nothing of "
        f"{release.name} is there, and the run proves nothing about its nodes."
    )
    fix = f"Let it install {known}, in a stack file by charts.{_KEYS[chart]}.version"
    # The real chart has no operands in it: the operator makes them.
    other = "." if chart == _OPERATOR else "; or let Helm render the real chart, with --engine."
    found = rules.UNKNOWN_CHART.finding(at, message, fix + other)
    return replace(found, severity="error")
