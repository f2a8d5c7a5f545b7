"""Cluster Autoscaler with the real engine: made, unchanged, given another pool, destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, StackFile

STACK = "scaled-by-cluster-autoscaler"
SCALED: dict[str, Any] = {"scaledBy": "autoscaler", "nodes": {"min": 0, "desired": 0, "max": 5}}
RELEASE = "Release gpushare-cluster-autoscaler-release"


def test_it_comes_after_the_nodes_and_goes_before_them(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    pool = time_slicing["eks-gpushare:environment"]["pools"]["gpu"]
    one = edited(time_slicing, "pools.gpu", {**pool, **SCALED})
    one = edited(one, "clusterAutoscaler", {})
    two = edited(one, "pools.more", {**pool, **SCALED})
    project.init(STACK, one)

    created = project.up(STACK)
    repeated = project.up(STACK)
    further = project.up(STACK, two)
    destroyed = project.destroy(STACK)

    assert set(created.changes.values()) == {"create"}
    assert {operation for operation, _ in repeated.steps} == {"same"}
    changed = {name: what for name, what in further.changes.items() if what != "create"}
    assert changed.pop("ConfigMap gpushare-device-plugin-config", None) is not None
    assert changed == {
        "Release gpushare-device-plugin-release": "update",
        "RolePolicy gpushare-cluster-autoscaler-policy": "update",
        RELEASE: "update",
    }
    order = [resource for _, resource in destroyed.steps]
    groups = [order.index(each) for each in order if each.startswith("NodeGroup ")]
    assert order.index(RELEASE) < min(groups)
    assert project.state(STACK)["deployment"].get("resources", []) == []
