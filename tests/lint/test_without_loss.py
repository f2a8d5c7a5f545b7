"""Values that no template reads, and that nothing is lost by."""

from __future__ import annotations

from typing import Any

import pytest
from linted import every

from eks_gpushare.manifests.checks.charts.without_loss import is_without_loss

ANYWAY = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
NFD = {"node-feature-discovery": {"a": 1}}


@pytest.mark.parametrize(
    ("chart", "values", "place", "is_so"),
    [
        ("gpu-operator", {"enabled": True}, "enabled", True),
        ("gpu-operator", {"enabled": False}, "enabled", False),
        ("gpu-operator", {"enabled": "true"}, "enabled", False),
        ("dcgm-exporter", {"enabled": True}, "enabled", True),
        ("gpu-operator", {"validator": {"enabled": True}}, "validator.enabled", True),
        ("gpu-operator", {"validator": {"enabled": False}}, "validator.enabled", False),
        ("gpu-operator", {"mig": {"enabled": True}}, "mig.enabled", False),
        ("nvidia-device-plugin", {"validator": {"enabled": True}}, "validator.enabled", False),
        ("gpu-operator", {"tolerations": ANYWAY}, "tolerations", True),
        ("gpu-operator", {"tolerations": [*ANYWAY, {"key": "a"}]}, "tolerations", False),
        ("gpu-operator", {"nodeSelector": {"a": "b"}}, "nodeSelector", False),
        ("gpu-operator", {"nodeSelector": {}}, "nodeSelector", True),
        ("gpu-operator", {"tolerations": []}, "tolerations", True),
        ("cluster-autoscaler", {"azureClusterName": ""}, "azureClusterName", True),
        ("cluster-autoscaler", {"azureClusterName": None}, "azureClusterName", True),
        ("cluster-autoscaler", {"azureClusterName": 0}, "azureClusterName", False),
        ("cluster-autoscaler", {"azureClusterName": False}, "azureClusterName", False),
        ("gpu-operator", {**NFD, "nfd": {"enabled": False}}, "node-feature-discovery.a", True),
        ("gpu-operator", {**NFD, "nfd": {"enabled": True}}, "node-feature-discovery.a", False),
        ("gpu-operator", NFD, "node-feature-discovery.a", False),
        ("nvidia-device-plugin", {"nfd": {"a": 1}}, "nfd.a", True),
        ("nvidia-device-plugin", {"nfd": {"a": 1}, "gfd": {"enabled": True}}, "nfd.a", False),
        ("nvidia-device-plugin", {"nfd": {"a": 1, "enabled": True}}, "nfd.a", False),
        ("nvidia-device-plugin", {"gfd": {"a": 1}}, "gfd.a", False),
        ("dcgm-exporter", {"nfd": {"a": 1}}, "nfd.a", False),
    ],
)
def test_what_happens_anyway_or_is_not_installed(
    chart: str, values: dict[str, Any], place: str, is_so: bool
) -> None:
    assert is_without_loss(chart, values, tuple(place.split("."))) is is_so


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a, namespace: a}
spec:
  chart: {spec: {chart: gpu-operator, VERSION sourceRef: {kind: HelmRepository, name: a}}}
  values: {VALUES}
"""


@pytest.mark.parametrize(
    ("version", "called"),
    [
        ("", "gpu-operator"),
        ("version: v25.3.1,", "gpu-operator 25.3.1"),
        ("version: v26.7.0,", "gpu-operator 26.7.0"),
    ],
)
@pytest.mark.parametrize(
    ("values", "place", "severity"),
    [
        ("validator: {enabled: true}", "validator.enabled", "info"),
        ("securityContext: {privileged: true}", "securityContext", "error"),
    ],
)
def test_a_note_is_enough_for_it(
    version: str, called: str, values: str, place: str, severity: str
) -> None:
    """Of no version that is said none is named: no release at all has that value."""
    text = RELEASE.replace("VERSION", version).replace("VALUES", values)
    (one,) = (each for each in every([("release.yaml", text)]) if each.code == "GPU1034")

    assert one.message == f"{place} is no value of {called}: no template reads it."
    assert one.severity == severity
