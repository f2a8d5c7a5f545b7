"""Overlays that would give several Namespaces one name, so that Kustomize makes nothing of them."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.kustomize_namespaces import in_namespace

SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME}\n"
LIMIT = """\
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: other}
spec: {limits: [{type: Container, max: {cpu: 1}}]}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: ask, namespace: ml}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: a, image: "a:1", resources: {limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 1}}}
"""
OVERLAY = "namespace: prod\nresources: [../base]\n"
BASE = "resources: [spaces.yaml, limit.yaml, pods.yaml]\n"
TWO = f"{SPACE.replace('NAME', 'ml')}---\n{SPACE.replace('NAME', 'other')}"


def is_told(**changes: str) -> bool:
    """Whether the pod is held against the limit of what is another namespace in the base."""
    files = {
        "prod/kustomization.yaml": OVERLAY,
        "base/kustomization.yaml": BASE,
        "base/spaces.yaml": TWO,
        "base/limit.yaml": LIMIT,
        "base/pods.yaml": PODS,
    }
    named = {name.replace("__", "/").replace("_", "."): text for name, text in changes.items()}
    return "GPU1277" in said(files | named)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, False),
        ({"base__spaces_yaml": SPACE.replace("NAME", "ml")}, True),
        ({"base__spaces_yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}, True),
        ({"base__spaces_yaml": TWO.replace("kind: Namespace", 'kind: "Namespace"')}, False),
        ({"prod__kustomization_yaml": OVERLAY.replace("namespace: prod\n", "")}, False),
        ({"base__kustomization_yaml": BASE.replace("spaces.yaml, ", "")}, True),
        ({"base__kustomization_yaml": f"namespace: ml\n{BASE}"}, False),
        (
            {
                "base__spaces_yaml": SPACE.replace("NAME", "ml"),
                "base__limit_yaml": f"{LIMIT}---\n{SPACE.replace('NAME', 'other')}",
            },
            False,
        ),
    ],
)
def test_an_overlay_that_ends_puts_nothing_together(changes: dict[str, str], told: bool) -> None:
    assert is_told(**changes) is told


@pytest.mark.parametrize(
    ("kind", "space", "made"),
    [
        ("Pod", "a", {"name": "n", "namespace": "a"}),
        ("Namespace", "a", {"name": "a"}),
        ("ClusterRole", "a", {"name": "n"}),
        ("Pod", "", {"name": "n"}),
        ("Pod", None, {"name": "n"}),
        ("Pod", 5, {"name": "n"}),
    ],
)
def test_what_a_namespace_makes_of_an_object(kind: str, space: object, made: object) -> None:
    given = {"kind": kind, "metadata": {"name": "n"}}

    assert in_namespace(given, space) == {"kind": kind, "metadata": made}


def tops(files: dict[str, str]) -> list[str]:
    return Kustomizations(GivenFile(name, text) for name, text in files.items()).tops


def test_what_an_overlay_that_ends_is_made_of_is_built_in_its_place() -> None:
    files = {
        "prod/kustomization.yaml": "namespace: prod\nresources: [../mid, ../own]\n",
        "mid/kustomization.yaml": "resources: [../base]\n",
        "own/kustomization.yaml": "resources: []\n",
        "base/kustomization.yaml": "resources: [spaces.yaml]\n",
        "base/spaces.yaml": TWO,
    }
    inner = ["mid/kustomization.yaml", "own/kustomization.yaml"]

    assert tops(files) == inner
    assert tops({**files, "base/spaces.yaml": SPACE}) == ["prod/kustomization.yaml"]
    mid = {"mid/kustomization.yaml": "namespace: a\nresources: [../base]\n"}
    assert tops({**files, **mid}) == ["own/kustomization.yaml", "base/kustomization.yaml"]


def test_what_only_an_overlay_that_ends_takes_in_is_of_its_folder() -> None:
    scaled = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
        "metadata: {name: NAME, namespace: ml}\n"
        "spec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ask}\n"
        "  maxReplicas: 3\n"
    )
    files = {
        "prod/kustomization.yaml": "namespace: prod\n"
        "resources: [spaces.yaml, pods.yaml, a.yaml, b.yaml]\n",
        "prod/spaces.yaml": TWO,
        "prod/pods.yaml": PODS,
        "prod/a.yaml": scaled.replace("NAME", "a"),
        "prod/b.yaml": scaled.replace("NAME", "b"),
    }

    assert "GPU1239" in said(files)


OWN = "namespace: a\nresources: [space.yaml]\n"


def test_patches_are_no_namespaces() -> None:
    files = {
        "a/kustomization.yaml": f"{OWN}patches: [{{path: p.yaml}}]\n",
        "a/space.yaml": SPACE,
        "a/p.yaml": SPACE,
    }
    assert tops(files) == ["a/kustomization.yaml"]
    assert tops({**files, "a/space.yaml": TWO}) == []


def test_those_that_build_on_each_other_end_all_the_same() -> None:
    files = {
        "a/kustomization.yaml": "namespace: a\nresources: [../b, spaces.yaml]\n",
        "a/spaces.yaml": TWO,
        "b/kustomization.yaml": "namespace: b\nresources: [../a, ../c]\n",
        "c/kustomization.yaml": "namespace: c\nresources: [../b]\n",
    }
    assert "a/kustomization.yaml" not in tops(files)
