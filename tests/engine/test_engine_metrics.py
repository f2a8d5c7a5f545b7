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
