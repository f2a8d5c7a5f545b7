"""Releases with values from places that are not among the files, and the note of them."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.readers.values_elsewhere import with_values_from

ONE = [{"kind": "Secret", "name": "a", "targetPath": "config.name"}]


def with_one(values: Any) -> Any:
    """Values of a release that takes the name of its configurations from elsewhere."""
    document = Document("a.yaml", {}, lambda _: Position(1, 1))
    made = Release(
        source=Source("the release", document),
        name="a",
        chart="nvidia-device-plugin",
        version="",
        namespace="gpu",
        values=values,
    )
    return with_values_from(made, ONE).values


@pytest.mark.parametrize(
    ("own", "all_of_them"),
    [
        ({}, {"config": {"name": UNKNOWN}}),
        ({"gfd": {}}, {"config": {"name": UNKNOWN}, "gfd": {}}),
        ({"gfd": None}, {"config": {"name": UNKNOWN}, "gfd": None}),
        ({"config": {"default": "a"}}, {"config": {"name": UNKNOWN, "default": "a"}}),
        ({"config": {"name": "b"}}, {"config": {"name": "b"}}),
        ({"config": "b"}, {"config": "b"}),
        ({"config": UNKNOWN}, {"config": UNKNOWN}),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_own_values_go_over_one_from_elsewhere(own: Any, all_of_them: Any) -> None:
    assert with_one(own) == all_of_them


def notes(text: str) -> list[str]:
    """What is said of values beside which there are others."""
    named = "kustomization.yaml" if "helmCharts" in text else "a.yaml"
    (report,) = lint_files([GivenFile(named, text)])
    return [each.message for each in report.findings if each.code == "GPU1037"]


ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a, namespace: argocd}
spec:
  destination: {namespace: gpu}
  source: {chart: %s, helm: {%s}}
"""


@pytest.mark.parametrize(
    ("chart", "helm", "told"),
    [
        ("nvidia-device-plugin", "valueFiles: [a.yaml], valuesObject: {gfd: {enabled: true}}", 1),
        ("nvidia-device-plugin", "valueFiles: [a.yaml]", 0),
        ("nvidia-device-plugin", "valuesObject: {gfd: {enabled: true}}", 0),
        ("redis", "valueFiles: [a.yaml], valuesObject: {gfd: {enabled: true}}", 0),
    ],
)
def test_the_note_is_for_own_values_of_a_known_chart(chart: str, helm: str, told: int) -> None:
    assert len(notes(ARGO % (chart, helm))) == told


FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a, namespace: gpu}
spec:
  chart: {spec: {chart: %s}}
  valuesFrom: [{kind: ConfigMap, name: base}]
  values: %s
"""


@pytest.mark.parametrize(
    ("chart", "values", "told"),
    [
        ("nvidia-device-plugin", "{gfd: {enabled: true}}", 1),
        ("nvidia-device-plugin", "{}", 0),
        ("redis", "{gfd: {enabled: true}}", 0),
    ],
)
def test_the_note_of_a_release_of_flux(chart: str, values: str, told: int) -> None:
    assert len(notes(FLUX % (chart, values))) == told


@pytest.mark.parametrize(("chart", "inline"), [("redis", "{a: 1}"), ("gpu-operator", "{}")])
def test_no_note_of_other_charts_nor_of_files_alone(chart: str, inline: str) -> None:
    given = f"{{name: {chart}, valuesInline: {inline}, valuesFile: a.yaml}}"

    assert notes(f"helmCharts: [{given}]\n") == []


KUSTOMIZED = (
    "helmCharts: [{name: nvidia-device-plugin, valuesInline: {gfd: {enabled: true}}, %s}]\n"
)


@pytest.mark.parametrize(
    ("more", "files"),
    [
        ("valuesFile: a.yaml", "a.yaml"),
        ("valuesFile: a.yaml, valuesMerge: merge", "a.yaml"),
        ("valuesFile: a.yaml, valuesMerge: replace", None),
        ("valuesFile: a.yaml, additionalValuesFiles: [b.yaml]", "a.yaml, b.yaml"),
        (
            "valuesFile: a.yaml, additionalValuesFiles: [b.yaml], valuesMerge: replace",
            "a.yaml, b.yaml",
        ),
        ("additionalValuesFiles: [b.yaml], valuesMerge: replace", "b.yaml"),
        ("valuesMerge: replace", None),
        ("valuesMerge: merge", None),
    ],
)
def test_files_that_a_note_names(more: str, files: str | None) -> None:
    wanted = [f"Further values come from {files}: nothing is known of those but gfd.enabled."]

    assert notes(KUSTOMIZED % more) == (wanted if files else [])


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, ""), (7, ", ...")])
def test_a_note_lists_six_values(count: int, more: str) -> None:
    values = ", ".join(f"a{number}: 1" for number in range(count))
    (note,) = notes(ARGO % ("gpu-operator", f"valueFiles: [b.yaml], valuesObject: {{{values}}}"))
    listed = ", ".join(f"a{number}" for number in range(min(count, 6)))

    assert note.endswith(f"but {listed}{more}.")
