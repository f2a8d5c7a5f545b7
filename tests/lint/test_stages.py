"""Roots of Terraform and kustomizations that are called after the same clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import found, found_in_parts

from eks_gpushare.lint.scopes import FileScope, Member, scopes_of
from eks_gpushare.lint.stages import of_one_way, stages

if TYPE_CHECKING:
    from pathlib import Path

PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      serviceAccountName: reader
      containers:
        - name: llm
          image: example.com/llm:1
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def build(space: str) -> str:
    return f"kind: Kustomization\nnamespace: {space}\nresources: [../base]\n"


def root(space: str) -> str:
    return f"""\
resource "aws_eks_pod_identity_association" "weights" {{
  cluster_name    = "own"
  namespace       = "{space}"
  service_account = "reader"
  role_arn        = "arn:aws:iam::123412341234:role/weights"
}}
"""


FILES = {
    "k8s/base/kustomization.yaml": "kind: Kustomization\nresources: [pods.yaml]\n",
    "k8s/base/pods.yaml": PODS,
    "k8s/red/kustomization.yaml": build("one"),
    "k8s/gray/kustomization.yaml": build("two"),
    "tf/red/main.tf": root("one"),
    "tf/gray/main.tf": root("one"),
}


def test_stages_are_folders_of_the_same_names() -> None:
    assert list(stages(["tf/red", "tf/gray", "tf/own"], ["k8s/gray", "k8s/red", "k8s/more"])) == [
        {"tf/gray": "k8s/gray", "tf/red": "k8s/red"}
    ]
    assert list(stages(["red", "gray"], ["k8s/red", "k8s/gray"])) == [
        {"gray": "k8s/gray", "red": "k8s/red"}
    ]


@pytest.mark.parametrize(
    ("roots", "built"),
    [
        (["tf/red"], ["k8s/red"]),  # one alone may be called so by chance
        (["tf/red", "tf/gray"], ["k8s/red", "k8s/blue"]),
        (["tf/red", "tf/gray"], ["a/red", "b/gray"]),
        (["tf/red", "tf/gray"], ["tf/red", "tf/gray"]),  # what lies beside it is of it anyway
        (["tf/karpenter", "tf/monitoring"], ["k8s/karpenter", "k8s/monitoring"]),
        (["tf/karpenter", "tf/red"], ["k8s/karpenter", "k8s/red"]),
        ([""], [""]),
    ],
)
def test_one_name_or_names_of_parts_are_none(roots: list[str], built: list[str]) -> None:
    assert list(stages(roots, built)) == []


def test_a_folder_is_of_one_stage() -> None:
    first, second = {"tf/a": "k8s/a", "tf/b": "k8s/b"}, {"tf/a": "apps/a", "tf/c": "apps/c"}

    assert of_one_way([first]) == first
    assert of_one_way([first, second]) == {"tf/b": "k8s/b", "tf/c": "apps/c"}
    assert of_one_way([first, {"other/a": "k8s/a"}]) == {"tf/b": "k8s/b"}


def scope_of(*more: Member) -> dict[str, FileScope]:
    """The scopes of two stages by their names."""
    members = [Member(file) for file in FILES]
    base = {"k8s/base/kustomization.yaml", "k8s/base/pods.yaml"}
    kustomizations = {
        f"k8s/{name}/kustomization.yaml": frozenset({f"k8s/{name}/kustomization.yaml", *base})
        for name in ("red", "gray")
    }
    roots = {f"tf/{name}": frozenset({f"tf/{name}/main.tf"}) for name in ("red", "gray")}
    return {each.name: each for each in scopes_of([*members, *more], kustomizations, None, roots)}


def test_a_root_takes_in_the_kustomization_of_its_stage_and_that_is_a_guess() -> None:
    scopes = scope_of()

    assert sorted(scopes) == ["the Terraform root tf/gray", "the Terraform root tf/red"]
    red = scopes["the Terraform root tf/red"]
    assert red.why == (
        "Terraform makes it of them, and it is called as the kustomization "
        "k8s/red/kustomization.yaml"
    )
    assert "tf/red/main.tf" in red.files
    assert "k8s/base/pods.yaml" in red.files
    assert "tf/gray/main.tf" not in red.files
    assert not red.is_certain


@pytest.mark.parametrize("folder", ["k8s/red", "tf/red"])
def test_what_others_name_is_of_these(folder: str) -> None:
    scopes = scope_of(Member("argo/app.yaml", folders=(folder,)))

    assert "the folder argo" in scopes
    assert "tf/gray/main.tf" in scopes["the Terraform root tf/gray"].files
    together = [
        each
        for each in scopes.values()
        if {"tf/red/main.tf", "k8s/red/kustomization.yaml"} <= each.files
    ]
    assert together == []


def test_what_is_found_is_found_in_a_stage(tmp_path: Path) -> None:
    whole = [each for each in found(FILES.items()) if each.code == "GPU1332"]

    assert len(whole) == 1
    assert "runs as two/reader, and its role is that of one/reader" in whole[0].message
    for folder in ("k8s", "tf"):
        (tmp_path / folder).mkdir()
    parts = [each for each in found_in_parts(tmp_path, FILES) if each.code == "GPU1332"]
    assert [each.message for each in parts] == [each.message for each in whole]
