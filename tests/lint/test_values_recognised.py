"""Which mappings are values of which chart."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import Release
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.helm_values import HelmValuesReader, ValuesOf

VALUES = HelmValuesReader()
OPERATOR, PLUGIN, EXPORTER = "gpu-operator", "nvidia-device-plugin", "dcgm-exporter"
DRIVER = "nvidia-dra-driver-gpu"
PROSE, SHORT = "a b c d e", "a b c d"


def document(value: Any, file: str = "a.yaml", **more: Any) -> Document:
    return Document(file, value, lambda _: Position(1, 1), **more)


def charts(given: Document) -> list[str]:
    """The charts that a document has values of."""
    found = [each.chart for each in VALUES.read(given).items if isinstance(each, Release)]
    assert VALUES.matches(given) is bool(found)
    return found


@pytest.mark.parametrize(
    ("value", "chart"),
    [
        ({"autoDiscovery": {"clusterName": "ml"}}, "cluster-autoscaler"),
        ({"prometheus": {"prometheusSpec": {}}}, "kube-prometheus-stack"),
    ],
)
def test_a_chart_with_other_keys_is_another(value: dict[str, Any], chart: str) -> None:
    own = {"own": 1, "more": 2}

    assert charts(document(value)) == [chart]
    assert charts(document({**value, "own": 1})) == [chart]
    assert charts(document({**value, **own})) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n", ["kueue"]),
        ("leaderElection: {resourceID: gpu.amd.com}\n", []),
        (None, []),
    ],
)
def test_a_chart_that_is_made_as_kueues_is_none(text: str | None, found: list[str]) -> None:
    """AMD's operator has a `managerConfig` too, as every chart that helmify makes."""
    values = {"controllerManager": {"manager": {}}, "kubernetesClusterDomain": "cluster.local"}
    config = {"controllerManagerConfigYaml": text}

    assert charts(document({**values, "managerConfig": config})) == found


@pytest.mark.parametrize(
    ("value", "chart"),
    [
        # Keys that are one chart's own, each of which is enough.
        ({"migStrategy": "mixed"}, PLUGIN),
        ({"mig-strategy": "mixed"}, PLUGIN),
        ({"kubeletPath": "/x", "serviceMonitor": {}}, EXPORTER),
        ({"migManager": {}}, OPERATOR),
        ({"driver": None, "migManager": {}}, OPERATOR),
        # Those that several have are not, but some together are.
        ({"nodeSelector": {}}, None),
        ({"nfd": {}}, None),
        ({"nfd": {}, "gfd": {}}, None),
        ({"driver": {}, "nfd": {}}, None),
        ({"driver": {}, "toolkit": None}, None),
        ({"driver": {}, "toolkit": {}}, OPERATOR),
        ({"config": "x", "gfd": {}}, PLUGIN),
        ({"config": "x", "nfd": {}}, PLUGIN),
        # A block that chooses configurations.
        ({"config": {"name": "x"}}, PLUGIN),
        ({"config": {"default": "x"}}, PLUGIN),
        ({"config": {"map": {"a": "version: v1"}}}, PLUGIN),
        ({"config": {"map": {"a": {}}}}, PLUGIN),
        ({"config": {"map": {}, "name": "", "default": "", "fallbackStrategies": []}}, PLUGIN),
        ({"config": {"map": {"a": 1}}}, None),
        ({"config": {"map": {"a": "x", "b": True}}}, None),
        ({"config": {"map": {"a": 1.5}}}, None),
        ({"config": {"name": "x", "host": "y"}}, None),
        ({"config": {}}, None),
        ({"config": ["name"]}, None),
        ({"config": "name"}, None),
        ({"devicePlugin": {"config": {"name": "x", "default": "y"}}}, OPERATOR),
        ({"operator": {}, "devicePlugin": {"config": {"create": True, "data": {}}}}, OPERATOR),
        ({"devicePlugin": {"config": {"create": True}}}, None),
        ({"devicePlugin": {"config": {"name": "x", "host": "y"}}}, None),
        ({"devicePlugin": {"config": "name"}}, None),
        # At least half of the keys are known, and blocks are blocks.
        ({"migStrategy": "a", "failOnInitError": True, "x": 1, "y": 2}, PLUGIN),
        ({"migStrategy": "a", "failOnInitError": True, "x": 1, "y": 2, "z": 3}, None),
        ({"migManager": {}, "driver": "550", "toolkit": {}}, None),
        # What tells what keys mean.
        ({"migStrategy": PROSE, "failOnInitError": True}, None),
        ({"migStrategy": SHORT, "failOnInitError": True}, PLUGIN),
        ({"migStrategy": PROSE, "failOnInitError": True, "cdi": {}}, PLUGIN),
        ({"customMetrics": "# a list of metrics\nDCGM_FI_DEV_FB_USED, gauge, memory\n"}, EXPORTER),
        ({"customMetrics": "# a list of metrics, on one line\n"}, None),
        # Values of other charts, and other things.
        ({"gpuResourcesEnabledOverride": True, "nvidiaDriverRoot": "/", "image": {}}, DRIVER),
        ({"nvidiaDriverRoot": "/", "image": {}}, PLUGIN),
        ({"apiVersion": "v1", "migStrategy": "mixed"}, None),
        ({}, None),
        (["migStrategy"], None),
        ("migStrategy", None),
    ],
)
def test_the_chart_that_values_are_for(value: Any, chart: str | None) -> None:
    assert charts(document(value)) == ([chart] if chart else [])


@pytest.mark.parametrize(
    ("file", "value", "chart"),
    [
        ("nvdp.yaml", {"tolerations": []}, PLUGIN),
        ("values/nvidia-device-plugin.yaml", {"tolerations": []}, PLUGIN),
        ("nvdp/values.yaml", {"tolerations": []}, PLUGIN),
        ("a/gpu-operator/values.yaml", {"driver": {}}, OPERATOR),
        ("time-slicing/values.yaml", {"tolerations": []}, None),
        ("gpu-operator/redis/values.yaml", {"tolerations": []}, None),
        ("dcgm.yaml", {"tolerations": []}, EXPORTER),
        (
            "values.yaml",
            {"image": {"repository": "r/dcgm-exporter"}, "serviceMonitor": {}},
            EXPORTER,
        ),
        ("nvdp.yaml", {"sleepInterval": 60}, None),
        ("redis.yaml", {"tolerations": []}, None),
        # As much speaks for either, and the operator has the plugin in it.
        ("gpu-operator.yaml", {"migStrategy": "mixed", "driver": {}}, OPERATOR),
    ],
)
def test_the_name_of_a_file_helps(file: str, value: Any, chart: str | None) -> None:
    assert charts(document(value, file)) == ([chart] if chart else [])


@pytest.mark.parametrize("more", [{"editable": False}, {"at": ("items", 0)}])
def test_the_name_of_a_file_says_nothing_of_what_is_within(more: dict[str, Any]) -> None:
    assert charts(document({"tolerations": []}, "nvdp.yaml", **more)) == []


def test_values_of_charts_within_a_chart() -> None:
    read = VALUES.read(document({OPERATOR: {"driver": {}}, PLUGIN: {"x": 1}, EXPORTER: 5}))
    found = [(each.chart, each.values, each.source.path) for each in read.items]  # type: ignore[union-attr]

    assert found == [(OPERATOR, {"driver": {}}, (OPERATOR,)), (PLUGIN, {"x": 1}, (PLUGIN,))]


def test_values_of_a_chart_that_is_known_are_any_mapping() -> None:
    reader = ValuesOf(OPERATOR)

    assert reader.matches(document({"x": 1}))
    assert not reader.matches(document(["x"]))


@pytest.mark.parametrize(
    ("file", "chart"),
    [
        ("device-plugin-values.yaml", PLUGIN),
        ("nvidia-device-plugin-amd64.yaml", PLUGIN),
        ("default-nvidia-device-plugin.yaml", PLUGIN),
        ("amd64-device-plugin.yaml", PLUGIN),
        ("aws-efa-k8s-device-plugin-values.yaml", None),
        ("amd-device-plugin.yaml", None),
        ("helm/neuron/neuron-device-plugin.yaml", None),
    ],
)
def test_a_file_called_after_a_plugin_of_other_devices_is_not_of_nvidias(
    file: str, chart: str | None
) -> None:
    assert charts(document({"tolerations": [{"key": "nvidia.com/gpu"}]}, file)) == (
        [chart] if chart else []
    )


@pytest.mark.parametrize(
    ("file", "chart"),
    [
        ("values-schema.yaml", None),
        ("chart/values.schema.json", None),
        ("values_schema.yml", None),
        ("values-schematic.yaml", OPERATOR),
        ("schema.yaml", OPERATOR),
    ],
)
def test_what_a_schema_is_made_of_is_no_file_of_values(file: str, chart: str | None) -> None:
    assert charts(document({"migManager": {}, "driver": {}}, file)) == ([chart] if chart else [])
