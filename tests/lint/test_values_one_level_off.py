"""Values of Karpenter, Ollama and Open WebUI: a level off, and where they are read."""

from __future__ import annotations

import pytest
from lint_corpus import found_in

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a, namespace: b}
spec:
  chart: {spec: {chart: CHART, version: VERSION}}
  values: VALUES
"""


def found(chart: str, values: str, version: str = "1.8.0") -> list[str]:
    text = RELEASE.replace("CHART", chart).replace("VALUES", values).replace("VERSION", version)
    return [e.message for e in found_in({"a.yaml": text}) if e.code == "GPU1034"]


@pytest.mark.parametrize(
    ("values", "version", "wrong"),
    [
        ("{clusterName: a}", "1.8.0", "clusterName"),
        ("{featureGates: {nodeOverlay: true}}", "v1.0.1", "featureGates"),
        ("{settings: {aws: {interruptionQueue: a}}}", "1.2.0", "settings.aws.interruptionQueue"),
        ("{settings: {clusterName: a}}", "1.8.0", ""),
        ("{clusterName: a, settings: {clusterName: a}}", "1.8.0", ""),
        ("{settings: {aws: {clusterName: a}}}", "v0.32.1", ""),
        ("{clusterName: a}", "$VERSION", ""),
        ("{replicas: 1}", "1.8.0", ""),
        ("$VALUES", "1.8.0", ""),
    ],
)
def test_what_karpenter_is_told_stands_below_settings(
    values: str, version: str, wrong: str
) -> None:
    said = found("karpenter", values, version)

    assert [each.partition(" ")[0] for each in said] == ([wrong] if wrong else [])


def test_of_another_chart_nothing_is_said_of_settings() -> None:
    assert found("hami", "{clusterName: a}") == []


ALL = "{enabled: true, draEnabled: false, type: nvidia, number: 1, nvidiaResource: a, mig: {}}"
GPU = "{enabled: true, type: nvidia, number: 1}"


@pytest.mark.parametrize(
    ("chart", "values", "wrong"),
    [
        ("ollama", f"{{gpu: {GPU}}}", "gpu"),
        ("ollama", f"{{gpu: {ALL}}}", "gpu"),
        ("ollama", f"{{ollama: {{ollama: {{gpu: {GPU}}}}}}}", "ollama.ollama.gpu"),
        ("open-webui", f"{{ollama: {{enabled: true, gpu: {GPU}}}}}", "ollama.gpu"),
        ("ollama", f"{{ollama: {{gpu: {GPU}}}}}", ""),
        ("ollama", f"{{gpu: {GPU}, ollama: {{gpu: {GPU}}}}}", ""),
        ("ollama", "{gpu: {count: 1}}", ""),  # of another chart of that name
        ("ollama", "{gpu: {}}", ""),
        ("ollama", "{gpu: nvidia}", ""),
        ("ollama", "$VALUES", ""),
        ("open-webui", f"{{ollama: {{ollama: {{gpu: {GPU}}}}}}}", ""),
        ("other", f"{{gpu: {GPU}}}", ""),
    ],
)
def test_the_gpu_of_ollama_stands_below_its_name(chart: str, values: str, wrong: str) -> None:
    assert [each.partition(" ")[0] for each in found(chart, values)] == ([wrong] if wrong else [])


@pytest.mark.parametrize(
    ("name", "values", "count"),
    [
        ("open-webui/values.yaml", f"ollama: {{enabled: true, gpu: {GPU}}}", 1),
        ("values/open_webui.yaml", f"ollama: {{enabled: true, gpu: {GPU}}}", 1),
        ("other/values.yaml", f"ollama: {{enabled: true, gpu: {GPU}}}", 0),
        ("open-webui/values.yaml", f"ollama: {{gpu: {GPU}}}", 0),
    ],
)
def test_values_are_known_by_their_folder(name: str, values: str, count: int) -> None:
    assert len([e for e in found_in({name: values}) if e.code == "GPU1034"]) == count
