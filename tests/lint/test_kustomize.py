"""Kustomizations among the files are applied as Kustomize does it."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.items import ConfigMap
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.strategic_merge import PatchError, patched
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from pathlib import Path

KUBECTL = shutil.which("kubectl")

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels: {team: vision}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      tolerations:
        - {key: a, operator: Exists}
      containers:
        - name: app
          image: app:1
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          resources: {limits: {nvidia.com/gpu: 1}}
        - {name: side, image: side:1}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
"""
RESOURCES = {"base/app.yaml": DEPLOYMENT, "base/pool.yaml": POOL}
BASE = "resources: [app.yaml, pool.yaml]\n"


def overlay(text: str, **files: str) -> dict[str, str]:
    """Files of a base and of an overlay that begins with it."""
    written = "resources: [../base]\n" + textwrap.dedent(text)
    return {
        **RESOURCES,
        "base/kustomization.yaml": BASE,
        "prod/kustomization.yaml": written,
        **{f"prod/{name}.yaml": textwrap.dedent(content) for name, content in files.items()},
    }


STRATEGIC = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app}
    spec:
      replicas: 3
      template:
        spec:
          nodeSelector: {tier: gold}
          tolerations: [{key: b, operator: Exists}]
          containers:
            - name: app
              env: [{name: B, value: "3"}, {name: C, value: "4"}]
              resources: {limits: {nvidia.com/gpu: null, nvidia.com/gpu.shared: 1}}
            - {name: more, image: more:1}
"""
CASES: dict[str, dict[str, str]] = {
    "nothing": overlay(""),
    "strategic, by file": overlay("patches: [{path: gpu.yaml}]\n", gpu=STRATEGIC),
    "strategic, of old": overlay("patchesStrategicMerge: [gpu.yaml]\n", gpu=STRATEGIC),
    "strategic, with a target": overlay(
        """
        patches:
          - target: {kind: Deployment, labelSelector: team=vision}
            patch: |-
              apiVersion: apps/v1
              kind: Deployment
              metadata: {name: whatever}
              spec: {replicas: 5}
        """
    ),
    "a list that is not merged": overlay(
        """
        patches:
          - patch: |-
              apiVersion: karpenter.sh/v1
              kind: NodePool
              metadata: {name: gpu}
              spec:
                template:
                  spec:
                    requirements:
                      - {key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}
        """
    ),
    "what is taken away": overlay(
        """
        patches:
          - patch: |-
              apiVersion: apps/v1
              kind: Deployment
              metadata: {name: app}
              spec:
                template:
                  spec:
                    tolerations: null
                    containers:
                      - {name: side, $patch: delete}
        """
    ),
    "replaced by a directive": overlay(
        """
        patches:
          - patch: |-
              apiVersion: apps/v1
              kind: Deployment
              metadata: {name: app}
              spec:
                template:
                  spec:
                    containers:
                      - $patch: replace
                      - {name: only, image: only:1}
        """
    ),
    "operations": overlay(
        """
        patches:
          - target: {group: apps, version: v1, kind: Deployment, name: ap.}
            patch: |-
              - {op: replace, path: /spec/replicas, value: 4}
              - {op: add, path: /spec/template/spec/tolerations/-, value: {key: c}}
              - {op: add, path: /spec/template/spec/tolerations/0, value: {key: d}}
              - {op: remove, path: /spec/template/spec/containers/1}
              - {op: add, path: /metadata/annotations, value: {a~b/c: "1"}}
              - {op: add, path: /metadata/annotations/a~0b~1c, value: "2"}
              - {op: copy, from: /metadata/labels/team, path: /metadata/labels/group}
              - {op: move, from: /metadata/labels/group, path: /metadata/labels/unit}
        """
    ),
    "operations on what is not there": overlay(
        """
        patches:
          - target: {kind: Deployment}
            patch: |-
              - {op: replace, path: /spec/minReadySeconds, value: 9}
              - {op: add, path: /metadata/annotations/a, value: b}
        """
    ),
    "operations of old": overlay(
        """
        patchesJson6902:
          - {target: {group: apps, version: v1, kind: Deployment, name: app}, path: ops.yaml}
        """,
        ops="- {op: remove, path: /spec/template/spec/tolerations}\n",
    ),
    "for nobody": overlay(
        """
        patches:
          - target: {kind: StatefulSet}
            patch: '[{"op": "remove", "path": "/spec/replicas"}]'
          - target: {kind: Deployment, name: ap}
            patch: '[{"op": "remove", "path": "/spec/replicas"}]'
          - target: {kind: Deployment, labelSelector: team=audio}
            patch: '[{"op": "remove", "path": "/spec/replicas"}]'
        """
    ),
    "an object that is deleted": overlay(
        "patches: [{path: none.yaml}]\n",
        none="$patch: delete\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n",
    ),
    "objects that are deleted by a target": overlay(
        """
        namespace: vision
        patches:
          - target: {kind: Deploy.*}
            patch: |-
              $patch: delete
              kind: Deployment
              metadata: {name: any}
        """
    ),
    "namespace and replicas": overlay("namespace: vision\nreplicas: [{name: app, count: 7}]\n"),
}


def built(files: dict[str, str]) -> list[Any]:
    """What the objects are."""
    made = Kustomizations([GivenFile(name, text) for name, text in files.items()])
    found = [
        each.value
        for name in RESOURCES
        for document in read_texts(files[name], name).documents
        for each in made.built(document)[:1]
    ]
    assert made.unapplied == []
    return found


def _in_order(value: Any) -> Any:
    """A value whose lists of named items are in the order of names."""
    if isinstance(value, dict):
        return {key: _in_order(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    named = all(isinstance(each, dict) and "name" in each for each in value)
    inner = [_in_order(each) for each in value]
    return sorted(inner, key=lambda each: str(each["name"])) if named else inner


@pytest.mark.skipif(KUBECTL is None, reason="no kubectl, which has Kustomize in it")
@pytest.mark.parametrize("case", CASES)
def test_objects_are_those_that_kustomize_builds(case: str, tmp_path: Path) -> None:
    for name, text in CASES[case].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert KUBECTL is not None
    made = subprocess.run(
        [KUBECTL, "kustomize", str(tmp_path / "prod")], capture_output=True, text=True, check=True
    )
    wanted = {each["kind"]: each for each in yaml.safe_load_all(made.stdout)}

    found = {each["kind"]: each for each in built(CASES[case])}

    # Items of lists stay where they are written, so that findings have their lines.
    wanted, found = _in_order(wanted), _in_order(found)
    # Kustomize gives any object the namespace whose kind it does not know to be of the cluster.
    wanted.get("NodePool", {"metadata": {}})["metadata"].pop("namespace", None)
    assert found == wanted


MAP = "configMapGenerator: [{name: m, BEHAVIOR literals: [LITERALS]}]\n"


def merged_maps(behavior: str) -> dict[str, dict[str, Any]]:
    """What the generated ConfigMaps have, by the file that makes them."""
    base = MAP.replace("BEHAVIOR", "").replace("LITERALS", "a=1, b=2")
    own = MAP.replace("BEHAVIOR", behavior).replace("LITERALS", "b=3, c=4")
    files = {
        "base/kustomization.yaml": base,
        "prod/kustomization.yaml": f"resources: [../base]\n{own}",
    }
    reading = read_files([GivenFile(name, text) for name, text in files.items()])
    return {
        each.source.file: dict(each.data)
        for each in reading.items
        if isinstance(each, ConfigMap) and each.data is not UNKNOWN
    }


def test_an_overlays_generator_goes_over_that_of_its_base() -> None:
    """As `kubectl kustomize` has it, which makes one ConfigMap of both."""
    overlay, base = "prod/kustomization.yaml", "base/kustomization.yaml"

    assert merged_maps("behavior: merge,") == {overlay: {"a": "1", "b": "3", "c": "4"}}
    assert merged_maps("behavior: replace,") == {overlay: {"b": "3", "c": "4"}}
    assert merged_maps("") == {base: {"a": "1", "b": "2"}, overlay: {"b": "3", "c": "4"}}
    assert merged_maps("behavior: create,").keys() == {base, overlay}


def test_what_every_overlay_deletes_is_nowhere() -> None:
    files = CASES["an object that is deleted"]
    made = Kustomizations([GivenFile(name, text) for name, text in files.items()])
    (pool,) = read_texts(POOL, "base/pool.yaml").documents
    (other,) = read_texts(POOL, "other/pool.yaml").documents

    assert made.built(pool) == []
    assert made.built(other) == [other]
    both = {**files, "test/kustomization.yaml": "resources: [../base]\n"}
    made = Kustomizations([GivenFile(name, text) for name, text in both.items()])
    assert [each.build for each in made.built(pool)] == ["test/kustomization.yaml"]


def test_what_is_deleted_is_no_source_of_replacements() -> None:
    files = dict(CASES["an object that is deleted"])
    files["prod/kustomization.yaml"] += (
        "replacements:\n- source: {kind: NodePool, fieldPath: metadata.name}\n"
        "  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.team]}]\n"
    )
    (app,) = (each for each in built(files) if each["kind"] == "Deployment")

    assert app["metadata"]["labels"]["team"] != "gpu"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"op": "remove", "path": "/b"}, "/b is not there"),
        ({"op": "replace", "path": "/b/c", "value": 1}, "/b is not there"),
        ({"op": "add", "path": "/a/5", "value": 1}, "/a/5 is beyond the list"),
        ({"op": "add", "path": "/b/c", "value": 1}, "/b is not there"),
        ({"op": "add", "path": "/b"}, "add of /b has no value"),
        ({"op": "add", "path": "b", "value": 1}, "b is no JSON pointer; one begins with /"),
        ({"op": "set", "path": "/b", "value": 1}, "set is no operation of a JSON patch"),
        ({"op": UNKNOWN, "path": "/b"}, "what an operation does is not known"),
        ("x", "an operation is no mapping"),
    ],
)
def test_operations_that_do_not_go_are_told(operation: Any, said: str) -> None:
    with pytest.raises(PatchError) as error:
        patched({"a": [1]}, [operation])
    assert str(error.value) == said


def linted(files: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    reading = read_files([GivenFile(name, text) for name, text in files.items()])
    reading.judge((*EDGES, *CHECKS))
    return {
        each.file: [(found.code, found.message) for found in each.findings]
        for each in reading.reports()
        if each.findings
    }


def test_patches_are_no_objects_and_what_they_make_is_judged() -> None:
    right = STRATEGIC.replace("nodeSelector: {tier: gold}", "hostNetwork: false")
    wrong = right.replace("gpu.shared: 1", "gpus: 1")

    found = linted(overlay("patches: [{path: gpu.yaml}]\n", gpu=wrong))

    assert [code for code, _ in found["base/app.yaml"]] == ["GPU1204"]
    assert "prod/gpu.yaml" not in found
    shared = right.replace("nvidia.com/gpu: null, nvidia.com/gpu.shared: 1", "cpu: 1")
    assert "base/app.yaml" not in linted(overlay("patches: [{path: gpu.yaml}]\n", gpu=shared))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("patches: [{path: none.yaml}]\n", "the patch none.yaml is not among the files"),
        ("resources: [../base, more.yaml]\n", "more.yaml is not among the files"),
        (
            "resources: [../base, 'https://example.com/x?ref=1']\n",
            "https://example.com/x?ref=1 is elsewhere and is not fetched",
        ),
        (
            "patches: [{target: {kind: Deployment}, patch: '[{op: remove, path: /spec/x}]'}]\n",
            "the patch does not go with the Deployment app: /spec/x is not there",
        ),
    ],
)
def test_what_is_not_applied_is_said(text: str, said: str) -> None:
    files = overlay("")
    files["prod/kustomization.yaml"] = (
        text if "resources" in text else f"resources: [../base]\n{text}"
    )

    found = linted(files)

    what = "Kustomize builds nothing of it" if "target" in text else "It is judged without this"
    assert found["prod/kustomization.yaml"] == [("GPU1014", f"{what}: {said}.")]


@pytest.mark.skipif(KUBECTL is None, reason="no kubectl, which has Kustomize in it")
def test_each_of_several_overlays_is_what_kustomize_builds_of_it(tmp_path: Path) -> None:
    files = overlay("replicas: [{name: app, count: 2}]\n")
    files["test/kustomization.yaml"] = (
        "resources: [../base]\nnamespace: test\ncomponents: [../more]\n"
    )
    files["more/kustomization.yaml"] = (
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "patches:\n- target: {kind: Deployment}\n  patch: |-\n"
        "    - {op: remove, path: /spec/replicas}\n"
    )
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made = Kustomizations([GivenFile(name, text) for name, text in files.items()])
    (app,) = read_texts(DEPLOYMENT, "base/app.yaml").documents
    found = {each.build: each.value for each in made.built(app)}

    assert KUBECTL is not None
    for name in ("prod", "test"):
        built_by_it = subprocess.run(
            [KUBECTL, "kustomize", str(tmp_path / name)], capture_output=True, text=True, check=True
        )
        (wanted,) = [
            each for each in yaml.safe_load_all(built_by_it.stdout) if each["kind"] == "Deployment"
        ]
        assert _in_order(found[f"{name}/kustomization.yaml"]) == _in_order(wanted)
    assert len(found) == 2


def test_what_is_wrong_in_one_of_several_overlays_is_found_there() -> None:
    files = overlay("")
    files["base/pool.yaml"] = POOL
    files["test/kustomization.yaml"] = (
        "resources: [../base]\n"
        "patches: [{target: {kind: Deployment}, patch: '[{op: add, path: "
        "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpus, value: 1}]'}]\n"
    )

    assert [code for code, _ in linted(files)["base/app.yaml"]] == ["GPU1204"]


def test_generators_have_the_files_that_are_given() -> None:
    files = {
        "kustomization.yaml": (
            "configMapGenerator: [{name: sharing, files: [any=plugin.yaml, b.yaml]}]\n"
        ),
        "plugin.yaml": "version: v1\nflags: {migStrategy: none}\n",
    }
    reading = read_files([GivenFile(name, text) for name, text in files.items()])

    (made,) = [each for each in reading.items if isinstance(each, ConfigMap)]
    assert isinstance(made.data, dict)
    assert made.data["any"] == files["plugin.yaml"]
    assert made.data["b.yaml"] not in ("", None)
