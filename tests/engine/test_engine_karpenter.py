"""A stack with Karpenter, from the first update to its end."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, Result, StackFile

STACK = "karpenter"


@pytest.fixture(scope="module")
def stack_file_of_karpenter(time_slicing: StackFile, edited: Edit) -> StackFile:
    """The time-slicing stack with a pool of each kind."""
    pools = copy.deepcopy(dict(time_slicing["eks-gpushare:environment"]["pools"]))
    pools["scaled"] = {**pools["gpu"], "provisioner": "karpenter", "nodes": {"max": 4}}
    return edited(time_slicing, "pools", pools)


@pytest.fixture(scope="module")
def created(project: Project, stack_file_of_karpenter: StackFile) -> Result:
    """The first update."""
    project.init(STACK, stack_file_of_karpenter)
    return project.up(STACK)


@pytest.fixture(scope="module")
def repeated(created: Result, project: Project) -> Result:
    """The second."""
    assert created.code == 0
    return project.up(STACK)


@pytest.fixture(scope="module")
def larger(
    repeated: Result, project: Project, stack_file_of_karpenter: StackFile, edited: Edit
) -> Result:
    """The third, with room for more nodes."""
    assert repeated.code == 0
    return project.up(STACK, edited(stack_file_of_karpenter, "pools.scaled.nodes.max", 6))


@pytest.fixture(scope="module")
def destroyed(larger: Result, project: Project) -> Result:
    """The end."""
    assert larger.code == 0
    return project.destroy(STACK)


def test_the_first_update_only_creates(created: Result) -> None:
    assert set(created.changes.values()) == {"create"}
    assert {"Release gpushare-karpenter-release", "NodePool gpushare-scaled"} <= {*created.changes}


def test_a_pool_is_made_when_everything_it_needs_is_there(created: Result) -> None:
    order = [resource for _, resource in created.steps]

    assert order.index("NodePool gpushare-scaled") == max(
        order.index(each)
        for each in order
        if not each.startswith(("KarpenterPool", "DeletionProtection"))
    )


def test_a_second_update_changes_nothing(repeated: Result) -> None:
    assert {operation for operation, _ in repeated.steps} == {"same"}


def test_room_for_more_nodes_changes_the_pool_alone(larger: Result) -> None:
    assert larger.changes == {"NodePool gpushare-scaled": "update"}


def test_destroying_leaves_nothing(destroyed: Result, project: Project) -> None:
    assert destroyed.code == 0
    assert project.state(STACK)["deployment"].get("resources", []) == []


def test_nodes_go_before_everything_that_ends_them(destroyed: Result) -> None:
    """Whatever is deleted before the pool is gone may keep its nodes from going."""
    order = [resource for operation, resource in destroyed.steps if operation == "delete"]
    pool = order.index("NodePool gpushare-scaled")
    before = {each for each in order[:pool] if "DeletionProtection" not in each}

    assert before == set()


def test_the_definitions_go_after_the_controller_and_it_after_its_objects(
    destroyed: Result,
) -> None:
    order = [resource for operation, resource in destroyed.steps if operation == "delete"]
    places = [
        order.index(each)
        for each in (
            "NodePool gpushare-scaled",
            "EC2NodeClass gpushare-scaled-class",
            "Release gpushare-karpenter-release",
            "Release gpushare-karpenter-crds",
            "Cluster gpushare-cluster-eks-eksCluster",
        )
    ]

    assert places == sorted(places)
