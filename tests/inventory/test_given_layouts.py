"""MIG devices of layouts that nobody gives to nodes, where only labels of nodes are known."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

CONFIGS = """\
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  classes: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 4, 3g.40gb: 1}}]
  theses:
    - {devices: [0], mig-enabled: true, mig-devices: {2g.20gb: 3, 1g.10gb+me: 1, 4g.40gb: 0}}
    - {devices: [1], mig-enabled: false, mig-devices: {7g.80gb: 1}}
"""


def release(configs: str = CONFIGS, strategy: Any = "mixed", default: Any = None) -> str:
    manager = {"config": {"name": "mine", "default": default, "data": {"config.yaml": configs}}}
    values = {"mig": {"strategy": strategy}, "migManager": manager}
    chart = {"spec": {"chart": "gpu-operator", "version": "v25.3.4"}}
    return yaml.safe_dump(
        {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "operator", "namespace": "gpu"},
            "spec": {"chart": chart, "values": values},
        }
    )


def node(layout: str, name: str = "ada") -> str:
    labels = f"{{nvidia.com/mig.config: {layout}}}"
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {labels}}}\n---\n"


def said(
    asked: str, nodes: str, operator: str | None = None, file: str = "nodes.yaml"
) -> list[Any]:
    pod = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: work}}
spec: {{containers: [{{name: a, image: a:1, resources: {{limits: {{{asked}: 1}}}}}}]}}
"""
    files = {"operator.yaml": operator or release(), file: nodes, "pod.yaml": pod}
    reports = lint_files([GivenFile(*each) for each in files.items()])
    found = [each for report in reports for each in report.findings]
    return [each for each in found if each.code == "GPU1110" and each.severity != "info"]


MISSING = "nvidia.com/mig-2g.20gb"
SECOND = release().replace("name: operator", "name: second")
UNKNOWN = "kind: Node\napiVersion: v1\nmetadata: {labels: $ALL}\n"


def test_a_device_of_another_layout_is_nowhere() -> None:
    (only,) = said(MISSING, node("classes"))

    assert only.severity == "warning"
    assert only.path == 'spec.containers[0].resources.limits["nvidia.com/mig-2g.20gb"]'
    assert only.message == (
        "The Pod work asks for nvidia.com/mig-2g.20gb, which is of the MIG layout theses; nodes "
        "are given classes."
    )
    assert only.fix == (
        "Label nodes with nvidia.com/mig.config=theses, or ask for a device that there is."
    )


@pytest.mark.parametrize(
    ("asked", "nodes", "operator", "count"),
    [
        ("nvidia.com/mig-1g.10gb.me", node("classes"), None, 1),
        (f"{MISSING}.shared", node("classes"), None, 1),
        (MISSING, node("classes") + node("classes", "bea"), None, 1),
        (MISSING, node("classes") + node("theses", "bea"), None, 0),
        (MISSING, node("classes"), release(default="theses"), 0),
        (MISSING, node("classes"), release(default="all-disabled"), 1),
        (MISSING, node("classes"), release(default="$DEFAULT"), 0),
        (MISSING, node("classes") + node("$LAYOUT", "bea"), None, 0),
        (MISSING, node("classes") + UNKNOWN, None, 0),
        (MISSING, node("nobodys"), None, 0),
        (MISSING, "", None, 0),
        ("nvidia.com/mig-1g.10gb", node("classes"), None, 0),
        ("nvidia.com/mig-4g.40gb", node("classes"), None, 0),
        ("nvidia.com/mig-7g.80gb", node("classes"), None, 0),
        ("nvidia.com/gpu", node("classes"), None, 0),
        (MISSING, node("classes"), release(strategy="single"), 0),
        (MISSING, node("classes"), release(strategy="$STRATEGY"), 0),
        (MISSING, node("classes"), f"{release()}---\n{SECOND}", 0),
    ],
)
def test_what_is_told(asked: str, nodes: str, operator: str | None, count: int) -> None:
    assert len(said(asked, nodes, operator)) == count


def test_a_guide_shows_only_how_it_is_done() -> None:
    assert said(MISSING, f"# Nodes\n```yaml\n{node('classes')}```\n", file="README.md") == []
