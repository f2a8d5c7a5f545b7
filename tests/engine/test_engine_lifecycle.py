from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, Result, StackFile

STACK = "lifecycle"


@pytest.fixture(scope="module")
def created(project: Project, time_slicing: StackFile) -> Result:
    """The first update of the time-slicing stack."""
    project.init(STACK, time_slicing)
    return project.up(STACK)


@pytest.fixture(scope="module")
def repeated(created: Result, project: Project) -> Result:
    """The second."""
    assert created.code == 0
    return project.up(STACK)


@pytest.fixture(scope="module")
def fewer_replicas(
    repeated: Result, project: Project, time_slicing: StackFile, edited: Edit
) -> Result:
    """The third, with 4 replicas instead of 10."""
    assert repeated.code == 0
    return project.up(STACK, edited(time_slicing, "pools.gpu.sharing.replicas", 4))


@pytest.fixture(scope="module")
def destroyed(fewer_replicas: Result, project: Project) -> Result:
    """The end."""
    assert fewer_replicas.code == 0
    return project.destroy(STACK)


def test_the_first_update_only_creates(created: Result) -> None:
    assert set(created.changes.values()) == {"create"}


def test_a_second_update_changes_nothing(repeated: Result) -> None:
    assert {operation for operation, _ in repeated.steps} == {"same"}


def test_fewer_replicas_replace_the_config_map_and_update_the_release(
    fewer_replicas: Result,
) -> None:
    assert fewer_replicas.changes == {
        "ConfigMap gpushare-device-plugin-config": "replaced, the new one first",
        "Release gpushare-device-plugin-release": "update",
    }


def test_the_old_config_map_stays_until_the_release_uses_the_new_one(
    fewer_replicas: Result,
) -> None:
    config, release = (
        "ConfigMap gpushare-device-plugin-config",
        "Release gpushare-device-plugin-release",
    )
    steps = [step for step in fewer_replicas.steps if step[1] in {config, release}]

    assert steps == [
        ("create-replacement", config),
        ("replace", config),
        ("update", release),
        ("delete-replaced", config),
    ]


def test_destroying_leaves_nothing(destroyed: Result, project: Project) -> None:
    assert destroyed.code == 0
    assert project.state(STACK)["deployment"].get("resources", []) == []


def test_destroying_ends_with_the_cluster_after_nodes_after_the_release(
    destroyed: Result,
) -> None:
    order = [resource for _, resource in destroyed.steps]
    release = order.index("Release gpushare-device-plugin-release")
    nodes = order.index("NodeGroup gpushare-gpu"), order.index("NodeGroup gpushare-system")
    cluster = order.index("Cluster gpushare-cluster-eks-eksCluster")

    assert release < min(nodes)
    assert max(nodes) < cluster
