"""What of kustomizations is applied, and to what; no program is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from eks_gpushare.findings.finding import Position
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_charts import Layered, with_files
from eks_gpushare.manifests.kustomize_files import is_kustomization
from eks_gpushare.manifests.readers.literals import unquoted
from eks_gpushare.manifests.texts import read_texts

APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {team: vision}}
spec: {replicas: 1}
"""
GROUP = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"


def read(**files: str) -> tuple[Kustomizations, dict[str, Document]]:
    """Kustomizations, and what becomes of the first document of each file."""
    named = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
    made = Kustomizations([GivenFile(name, text) for name, text in named.items()])
    first = {name: read_texts(text, name).documents[0] for name, text in named.items()}
    return made, {name: made.built(document)[0] for name, document in first.items()}


def replicas(kustomization: str, app: str = APP) -> Any:
    """How many an object has after its kustomization; None if its patches took that away."""
    _, built = read(kustomization_yaml=f"resources: [app.yaml]\n{kustomization}", app_yaml=app)
    return built["app.yaml"].value["spec"].get("replicas")


REMOVE = "patch: '[{op: remove, path: /spec/replicas}]'"


@pytest.mark.parametrize(
    ("target", "is_for"),
    [
        ("{kind: Deployment}", True),
        ("{}", True),
        ("{group: apps, version: v1, name: ap.}", True),
        ("{name: ''}", True),
        ("{namespace: x}", False),
        ("{group: batch}", False),
        ("{version: v2}", False),
        ("{kind: StatefulSet}", False),
        ("{kind: Deploy}", False),
        ("{name: ap}", False),
        ("{name: '*'}", False),
        ("{name: '${NAME}'}", False),
        ("{labelSelector: team=vision}", True),
        ("{labelSelector: 'team == vision'}", True),
        ("{labelSelector: 'team=vision,team=vision'}", True),
        ("{labelSelector: team=audio}", False),
        ("{labelSelector: team}", False),
        ("{labelSelector: team!=audio}", False),
        ("{labelSelector: team!=vision}", False),
        ("{annotationSelector: team=vision}", False),
    ],
)
def test_which_objects_a_target_means(target: str, is_for: bool) -> None:
    patched = replicas(f"patches: [{{target: {target}, {REMOVE}}}]\n")

    assert patched == (None if is_for else 1)


def test_a_kustomization_is_no_object_that_it_changes_itself() -> None:
    text = f"{GROUP}namespace: a\ncommonLabels: {{b: c}}\nresources: []\n"
    _, built = read(kustomization_yaml=text)

    assert "metadata" not in built["kustomization.yaml"].value


def test_operations_without_a_target_are_for_nothing() -> None:
    assert replicas(f"patches: [{{{REMOVE}}}]\n") == 1


MERGED = (
    "patches: [{patch: '{apiVersion: %s, kind: %s, metadata: {name: %s}, spec: {replicas: 5}}'}]"
)


@pytest.mark.parametrize(
    ("group", "kind", "name", "count"),
    [
        ("apps/v1", "Deployment", "app", 5),
        ("apps/v1beta1", "Deployment", "app", 5),
        ("batch/v1", "Deployment", "app", 1),
        ("apps/v1", "StatefulSet", "app", 1),
        ("apps/v1", "Deployment", "other", 1),
    ],
)
def test_which_object_a_patch_without_a_target_means(
    group: str, kind: str, name: str, count: int
) -> None:
    assert replicas(MERGED % (group, kind, name)) == count


def test_patches_of_old_that_are_no_text_or_empty_are_none() -> None:
    made, _ = read(kustomization_yaml="patchesStrategicMerge: [5, '', ' ']\n")

    assert made.unapplied == []


TARGETED = "patches: [{target: {kind: Deployment}, patch: '%s'}]"


@pytest.mark.parametrize(
    ("given", "patch", "metadata"),
    [
        (APP, "{metadata: {name: b, labels: {a: b}}}", {"name": "app", "labels": {"a": "b"}}),
        (APP, "{metadata: null}", None),
        (
            APP.replace("name: app, labels: {team: vision}", "generateName: a-"),
            "{metadata: {labels: {a: b}}}",
            {"generateName": "a-", "labels": {"a": "b"}},
        ),
    ],
)
def test_a_patch_with_a_target_changes_no_name(given: str, patch: str, metadata: Any) -> None:
    text = f"resources: [app.yaml]\n{TARGETED % patch}\n"
    _, built = read(kustomization_yaml=text, app_yaml=given)
    found = built["app.yaml"].value

    assert found["kind"] == "Deployment"
    labels = (found.get("metadata") or {}).get("labels") or {}
    assert found.get("metadata") == (
        None if metadata is None else {**metadata, "labels": {**labels, **metadata["labels"]}}
    )


def test_only_the_first_document_of_a_file_is_its_kustomization() -> None:
    one = "resources: [app.yaml]\nnamespace: %s\n"
    _, built = read(kustomization_yaml=f"{one % 'first'}---\n{one % 'second'}", app_yaml=APP)

    assert built["app.yaml"].value["metadata"]["namespace"] == "first"


def test_what_is_changed_cannot_be_edited_and_all_else_can() -> None:
    _, built = read(
        kustomization_yaml="resources: [app.yaml]\nnamespace: x\n", app_yaml=APP, b_yaml=APP
    )

    assert {name: each.editable for name, each in built.items()} == {
        "kustomization.yaml": True,
        "app.yaml": False,
        "b.yaml": True,
    }


@pytest.mark.parametrize(
    "more",
    [
        "configMapGenerator: [{name: a, files: [conf/a.yaml, other=conf/a.yaml]}]\n",
        "helmCharts: [{name: gpu-operator, valuesFile: conf/a.yaml, valuesInline: {b: 1}}]\n",
    ],
)
def test_a_kustomization_with_contents_of_files_cannot_be_edited(more: str) -> None:
    made, built = read(kustomization_yaml=more, conf__a_yaml="a: 1\n")
    found = built["kustomization.yaml"]

    assert made.unapplied == []
    assert not found.editable
    if "Generator" in more:
        (generated,) = found.value["configMapGenerator"]
        assert generated["literals"] == ["a.yaml=a: 1\n", "other=a: 1\n"]
        assert generated["files"] == []
    else:
        assert found.value["helmCharts"][0]["valuesInline"] == {"a": 1, "b": 1}


def test_kustomizations_in_a_circle_end() -> None:
    made, built = read(
        a__kustomization_yaml="resources: [../b]\nnamespace: a\n",
        b__kustomization_yaml="resources: [../a, app.yaml]\nnamespace: b\n",
        b__app_yaml=APP,
    )

    assert made.unapplied == []
    assert built["b/app.yaml"].value["metadata"]["namespace"] == "a"


def test_of_several_each_builds_the_base_for_itself() -> None:
    made, _ = read(
        base__kustomization_yaml="resources: [app.yaml, more.yaml]\n",
        base__app_yaml=APP,
        base__more_yaml=APP.replace("name: app", "name: more"),
        test__kustomization_yaml="resources: [../base]\nnamespace: test\n",
        prod__kustomization_yaml="resources: [../base]\nreplicas: [{name: app, count: 2}]\n",
        dev__kustomization_yaml="resources: [../base]\n",
    )

    (app,) = read_texts(APP, "base/app.yaml").documents
    found = {
        each.build: (each.value["metadata"].get("namespace"), each.value["spec"]["replicas"])
        for each in made.built(app)
    }
    assert made.unapplied == []
    assert found == {
        "test/kustomization.yaml": ("test", 1),
        "prod/kustomization.yaml": (None, 2),
        "dev/kustomization.yaml": (None, 1),
    }
    made.build_in(["base"])
    assert [each.build for each in made.built(app)][3:] == ["base/kustomization.yaml"]


def test_patches_of_a_component_are_for_all_that_its_user_builds_on() -> None:
    made, built = read(
        base__kustomization_yaml="resources: [app.yaml]\n",
        base__app_yaml=APP,
        more__kustomization_yaml=(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
            "replicas: [{name: app, count: 7}]\n"
        ),
        prod__kustomization_yaml="resources: [../base]\ncomponents: [../more]\n",
    )

    assert made.tops == ["prod/kustomization.yaml"]
    assert built["base/app.yaml"].value["spec"]["replicas"] == 7


@pytest.mark.parametrize(
    ("file", "given", "is_one"),
    [
        ("kustomization.yaml", {}, True),
        ("a/Kustomization", {"resources": []}, True),
        ("kustomization.yml", {"kind": "Kustomization"}, True),
        ("kustomization.yaml", {"kind": "Component"}, True),
        ("kustomization.yaml", {"apiVersion": "kustomize.config.k8s.io/v1beta1"}, True),
        ("kustomization.yaml", {"apiVersion": None, "kind": None}, True),
        ("kustomization.yaml", {"kind": "Deployment"}, False),
        ("kustomization.yaml", {"kind": ["Kustomization"]}, False),
        ("kustomization.yaml", {"apiVersion": "v1"}, False),
        ("kustomization.yaml", {"apiVersion": "kustomize.toolkit.fluxcd.io/v1"}, False),
        ("kustomization.yaml", {"version": "v1", "flags": {}}, False),
        ("kustomization.yaml", {"mig-configs": {}}, False),
        ("kustomization.yaml", ["resources"], False),
        ("a.yaml", {"resources": []}, False),
        ("a.yaml", {"kind": "Kustomization"}, False),
        ("a.yaml", {"apiVersion": "kustomize.config.k8s.io/v1beta1"}, False),
        (
            "a.yaml",
            {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"},
            True,
        ),
        (
            "a.yaml",
            {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"},
            False,
        ),
        (
            "a.yaml",
            {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Other"},
            False,
        ),
    ],
)
def test_what_is_a_kustomization(file: str, given: Any, is_one: bool) -> None:
    assert is_kustomization(Document(file, given, lambda _: Position(1, 1))) is is_one


@pytest.mark.parametrize(
    ("name", "space"),
    [("gpu_yaml", "x"), ("gpu_yml", "x"), ("gpu_json", "x"), ("gpu_txt", None)],
)
def test_a_kustomization_by_another_name(name: str, space: str | None) -> None:
    text = f"{GROUP}resources: [app.yaml]\nnamespace: x\n"
    text = json.dumps(yaml.safe_load(text)) if name == "gpu_json" else text
    _, built = read(app_yaml=APP, **{name: text})

    assert built["app.yaml"].value["metadata"].get("namespace") == space


# --- charts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chart", "files", "layers"),
    [
        ("valuesFile: a.yaml", {"a.yaml"}, set()),
        ("additionalValuesFiles: [a.yaml]", {"a.yaml"}, set()),
        ("additionalValuesFiles: [a.yaml, 5, '']", {"a.yaml"}, set()),
        (
            "valuesFile: a.yaml, additionalValuesFiles: [b.yaml]",
            {"a.yaml", "b.yaml"},
            {"a.yaml", "b.yaml"},
        ),
        ("valuesFile: a.yaml, valuesInline: {}", {"a.yaml"}, {"a.yaml"}),
        ("valuesInline: {}", set(), set()),
    ],
)
def test_files_of_values(chart: str, files: set[str], layers: set[str]) -> None:
    made, _ = read(kustomization_yaml=f"helmCharts: [{{name: gpu-operator, {chart}}}]\n")

    assert made.charts == dict.fromkeys(files, "gpu-operator")
    assert made.layers == layers


FILES = {"a": "a: 1\nb: null\nc: {d: 1}\n", "more": "a: null\nc: {e: 2}\n", "list": "[1]\n"}


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"valuesFile": "a"}, None),
        ({"valuesInline": {"a": 2}}, None),
        ({"valuesFile": "none", "valuesInline": {"a": 2}}, None),
        ({"valuesFile": "list", "valuesInline": {"a": 2}}, None),
        ({"valuesFile": "a", "additionalValuesFiles": ["none"]}, None),
        (
            {"valuesFile": "a", "valuesInline": {"a": None, "b": 2}},
            {"a": None, "b": 2, "c": {"d": 1}},
        ),
        (
            {"valuesFile": "a", "valuesInline": {"a": 2, "b": 2}, "valuesMerge": "merge"},
            {"a": 1, "b": None, "c": {"d": 1}},
        ),
        (
            {"valuesFile": "a", "valuesInline": {"x": 2}, "valuesMerge": "replace"},
            {"x": 2},
        ),
        (
            {"valuesFile": "a", "additionalValuesFiles": ["more"]},
            {"a": None, "b": None, "c": {"d": 1, "e": 2}},
        ),
        (
            {"valuesInline": {"a": 1}, "additionalValuesFiles": ["more"]},
            {"a": None, "c": {"e": 2}},
        ),
    ],
)
def test_values_of_files_and_of_the_kustomization(
    given: dict[str, Any], values: dict[str, Any] | None
) -> None:
    made = with_files({"name": "gpu-operator", **given}, FILES.get)

    if values is None:
        assert made == {"name": "gpu-operator", **given}
        assert not isinstance(made.get("valuesInline"), Layered)
    else:
        assert made["valuesInline"] == values
        assert {"valuesFile", "additionalValuesFiles"}.isdisjoint(made)
        assert made["valuesInline"].own == given.get("valuesInline", {})


# --- literals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"a"', "a"),
        ("'a'", "a"),
        ("\"'a'\"", "'a'"),
        ("''", ""),
        ('"', '"'),
        ("\"a'", "\"a'"),
        ('"a', '"a'),
        ('a"', 'a"'),
        ("a", "a"),
        ("aba", "aba"),
        ("", ""),
    ],
)
def test_a_pair_of_quotes_is_taken_away(written: str, value: str) -> None:
    assert unquoted(written) == value


def test_what_a_file_holds_is_told_there_alone() -> None:
    wrong = "version: v1\nsharing: {mps: {resources: [{name: gpu, replicas: 1}]}}\n"
    files = {
        "kustomization.yaml": (
            "configMapGenerator: [{name: a, files: [plugin.yaml], literals: [5]}]\n"
        ),
        "plugin.yaml": wrong,
    }
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])

    assert [(each.file, found.code) for each in reports for found in each.findings] == [
        ("plugin.yaml", "GPU1021")
    ]
