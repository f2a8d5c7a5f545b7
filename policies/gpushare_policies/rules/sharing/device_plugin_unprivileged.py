"""The device plugin has no more rights than it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import is_true
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.containers import on_pods, pods_of
from gpushare_policies.reading.node_images import repository_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHART = "nvidia-device-plugin"
_PLUGIN = "k8s-device-plugin"
# https://github.com/NVIDIA/k8s-device-plugin/blob/main/deployments/helm/nvidia-device-plugin/
# templates/_helpers.tpl: compatWithCPUManager makes the container privileged.
_SWITCHES = (("compatWithCPUManager",), ("securityContext", "privileged"))

_TURN_OFF = "Remove it from the values of the chart."
_LEAVE_OUT = "Remove `securityContext.privileged` of the container."
_OF_MANIFESTS = Fix(_LEAVE_OUT, _LEAVE_OUT, _LEAVE_OUT)
_LESS = Fix("Remove it from `charts.devicePlugin.values` in the stack file.", _TURN_OFF, _TURN_OFF)


def _values(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
    for chart in charts_of(args.props):
        if chart.name != _CHART:
            continue
        for path in _SWITCHES:
            value = at(chart.values, *path)
            if value is UNKNOWN:
                yield Unjudged(f"`values.{'.'.join(path)}` of {args.name}")
            elif is_true(value):
                yield (
                    f"The values of {args.name} set {'.'.join(path)}, which makes the device "
                    f"plugin privileged. It must not be, unless the static CPU manager's hand-outs "
                    f"break without: it then has every device of its node. {_LESS.of(args.urn)}"
                )


def _pods(subject: Subject) -> Iterator[str | Unjudged]:
    """Of a manifest of its own."""
    for pod in pods_of(subject.object):
        for container in pod.containers:
            image = container.get("image")
            is_plugin = isinstance(image, str) and repository_of(image).endswith(f"/{_PLUGIN}")
            if is_plugin and is_true(container.get("securityContext", "privileged")):
                yield (
                    f"The container {container.name} of {subject.title} is the device plugin, and "
                    f"privileged. It must not be, unless the static CPU manager's hand-outs "
                    f"break without: it then has every device of its node. "
                    f"{_OF_MANIFESTS.of(subject.args.urn)}"
                )


DEVICE_PLUGIN_UNPRIVILEGED = ResourcePolicy(
    "device-plugin-unprivileged",
    "The device plugin must not be made privileged.",
    checks=ObjectChecks(on_pods(_pods), {RELEASE: _values, CHART_V4: _values}),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    framework=cis("4.2.1", "The admission of privileged containers is minimized."),
    fix=_LESS,
)
