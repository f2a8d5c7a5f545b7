"""Labels that a kustomization gives to what it builds, as Kustomize itself gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_labels import with_labels
from eks_gpushare.manifests.texts import read_texts

BUILT = yaml.load(
    (Path(__file__).parent / "data/kustomize-labels.yaml").read_bytes(), yaml.CSafeLoader
)


def by_kind(objects: list[Any]) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize(
    "case", BUILT["built"], ids=lambda each: each["kustomization"].splitlines()[0]
)
def test_objects_are_what_kustomize_builds_of_them(case: dict[str, Any]) -> None:
    text = yaml.safe_dump_all(BUILT["objects"])
    files = {
        "base/all.yaml": text,
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "prod/kustomization.yaml": f"resources: [../base]\n{case['kustomization']}",
    }
    made = Kustomizations([GivenFile(*each) for each in files.items()])
    documents = read_texts(text, "base/all.yaml").documents
    built = [each.value for document in documents for each in made.built(document)]

    assert by_kind(built) == by_kind(case["objects"])


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ({"labels": [{"pairs": {"a": "b"}}]}, {"own": "c", "a": "b"}),
        ({"labels": [{"pairs": UNKNOWN}]}, {"own": "c"}),
        ({"labels": UNKNOWN}, {"own": "c"}),
        ({"labels": ["a"], "commonLabels": ["a"]}, {"own": "c"}),
    ],
)
def test_labels_that_are_none(given: Any, labels: Any) -> None:
    value = {"kind": "Namespace", "metadata": {"name": "a", "labels": {"own": "c"}}}

    assert with_labels(value, given)["metadata"]["labels"] == labels


@pytest.mark.parametrize("labels", [UNKNOWN, "text", ["a"]])
def test_labels_that_are_not_known_stay_so(labels: Any) -> None:
    value = {"kind": "Namespace", "metadata": {"labels": labels}}

    assert with_labels(value, {"commonLabels": {"a": "b"}})["metadata"]["labels"] == labels


OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu}
spec: {chart: {spec: {chart: gpu-operator, version: v25.10.1}}, values: {driver: {enabled: false}}}
"""


@pytest.mark.parametrize(("level", "codes"), [("baseline", ["GPU1256"]), ("privileged", [])])
def test_a_level_of_security_that_a_kustomization_gives_all_namespaces(
    level: str, codes: list[str]
) -> None:
    files = {
        "space.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu}\n",
        "operator.yaml": OPERATOR,
        "kustomization.yaml": (
            "resources: [space.yaml, operator.yaml]\n"
            f"labels: [{{pairs: {{pod-security.kubernetes.io/enforce: {level}}}}}]\n"
        ),
    }
    found = [
        each.code
        for file in lint_files([GivenFile(*each) for each in files.items()])
        for each in file.findings
        if each.severity == "error"
    ]

    assert found == codes
