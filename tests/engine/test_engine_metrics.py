"""Metrics by the real engine: made, unchanged by a second update, changed in place, and gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, StackFile

STACK = "metrics"


def test_they_are_made_unchanged_edited_and_taken_away(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    with_volumes = edited(time_slicing, "cluster.addons", {"ebsCsi": True})
    block = {"prometheus": {"install": True}}
    declared = edited(with_volumes, "observability", block)
    project.init(STACK, declared)

    made = project.up(STACK, declared)
    assert "eks-gpushare:index:GpuMetrics" in made.types
    assert "kubernetes:monitoring.coreos.com/v1:PrometheusRule" in made.types
    assert project.up(STACK, declared).changes == {}

    quiet = {**block, "alerts": {"severity": {"GpuNodeIdle": "none"}}}
    changed = project.up(STACK, edited(with_volumes, "observability", quiet)).changes
    assert {name for name in changed if not name.startswith("GpuMetrics")} == {
        "PrometheusRule gpushare-metrics-rules"
    }
    assert not [what for what in changed.values() if "replaced" in what]

    gone = project.up(STACK, with_volumes).steps
    assert ("delete", "Namespace gpushare-metrics-namespace") in gone
    assert ("delete", "Release gpushare-metrics-prometheus") in gone
    project.destroy(STACK)


def test_a_workspace_stays_with_its_rules_and_goes_with_its_key(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/11111111-2222-3333-4444-555555555555"
    store = {"install": True, "kmsKeyArn": key}
    block = {"metrics": "managedPrometheus", "prometheus": store, "dashboards": "files"}
    chat = {"pool": "gpu", "image": "chat:1.0", "replicas": {"max": 3}}
    followed = edited(edited(time_slicing, "keda", {}), "workloads", {"chat": chat})
    declared = edited(followed, "observability", block)
    project.init("workspace", declared)

    made = project.up("workspace", declared)
    assert {"aws:amp/scraper:Scraper", "aws:amp/workspace:Workspace"} <= {*made.types}
    assert {"eks-gpushare:index:Keda", "kubernetes:keda.sh/v1alpha1:ScaledObject"} <= {*made.types}
    assert project.up("workspace", declared).changes == {}

    quiet = {**block, "alerts": {"severity": {"GpuNodeIdle": "none"}}}
    changed = project.up("workspace", edited(followed, "observability", quiet)).changes
    assert {name for name in changed if not name.startswith("GpuMetrics")} == {
        "RuleGroupNamespace gpushare-metrics-workspace-rules"
    }
    assert not [what for what in changed.values() if "replaced" in what]

    other = {
        **quiet,
        "prometheus": {**store, "kmsKeyArn": key.replace("555555555555", "5" * 11 + "6")},
    }
    changed = project.up("workspace", edited(followed, "observability", other)).changes
    assert {name for name, what in changed.items() if "replaced" in what} == {
        "Workspace gpushare-metrics-workspace",
        "WorkspaceConfiguration gpushare-metrics-workspace-configuration",
        "RuleGroupNamespace gpushare-metrics-workspace-rules",
    }
    project.destroy("workspace")
