"""A stack with workloads, KEDA and warm room, from the first update to its end."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, Result, StackFile

STACK = "workloads"
ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"
SCALED_OBJECT = "ScaledObject gpushare-workload-chat-scaled-object"
DEPLOYMENT = "Deployment gpushare-workload-chat-deployment"
KEDA = "Release gpushare-keda-release"


@pytest.fixture(scope="module")
def stack_file_of_workloads(time_slicing: StackFile, edited: Edit) -> StackFile:
    """The time-slicing stack with a workload that follows its use, and room kept free."""
    pools = copy.deepcopy(dict(time_slicing["eks-gpushare:environment"]["pools"]))
    pools["gpu"] |= {"scaledBy": "autoscaler", "warm": {"shares": 2, "nodes": 1}}
    workload = {
        "pool": "gpu",
        "namespace": "models",
        "image": "registry.example/chat:1.4",
        "port": 8000,
        "priority": "high",
        "replicas": {"min": 1, "max": 3},
    }
    keda = {"prometheus": {"workspaceArn": ARN, "processMetrics": True}}
    made = edited(time_slicing, "pools", pools)
    return edited(edited(made, "keda", keda), "workloads", {"chat": workload})


@pytest.fixture(scope="module")
def created(project: Project, stack_file_of_workloads: StackFile) -> Result:
    """The first update."""
    project.init(STACK, stack_file_of_workloads)
    return project.up(STACK)


@pytest.fixture(scope="module")
def repeated(created: Result, project: Project) -> Result:
    """The second."""
    assert created.code == 0
    return project.up(STACK)


@pytest.fixture(scope="module")
def larger(
    repeated: Result, project: Project, stack_file_of_workloads: StackFile, edited: Edit
) -> Result:
    """The third, with room for more pods and less room kept free."""
    assert repeated.code == 0
    more = edited(stack_file_of_workloads, "workloads.chat.replicas.max", 4)
    return project.up(STACK, edited(more, "pools.gpu.warm.shares", 1))


@pytest.fixture(scope="module")
def older(larger: Result, project: Project) -> Result:
    """The same once more, of a state from before objects were replaced with KEDA's release."""
    assert larger.code == 0
    state = project.state(STACK)
    replaced = [each for each in state["deployment"]["resources"] if each.pop("replaceWith", None)]
    assert len(replaced) == 2
    project.set_state(STACK, state)
    return project.up(STACK)


@pytest.fixture(scope="module")
def moved(
    older: Result, project: Project, stack_file_of_workloads: StackFile, edited: Edit
) -> Result:
    """The fifth, with KEDA in another namespace, and nothing else than at first."""
    assert older.code == 0
    return project.up(STACK, edited(stack_file_of_workloads, "keda.namespace", "scaling"))


@pytest.fixture(scope="module")
def destroyed(moved: Result, project: Project) -> Result:
    """The end."""
    assert moved.code == 0
    return project.destroy(STACK)


def test_the_first_update_only_creates(created: Result) -> None:
    assert set(created.changes.values()) == {"create"}
    assert {KEDA, DEPLOYMENT, SCALED_OBJECT} <= {*created.changes}


def test_keda_is_there_before_what_it_scales(created: Result) -> None:
    order = [resource for _, resource in created.steps]

    assert order.index(KEDA) < order.index(DEPLOYMENT) < order.index(SCALED_OBJECT)
    assert order.index("NodeGroup gpushare-gpu") < order.index(DEPLOYMENT)


def test_a_second_update_changes_nothing(repeated: Result) -> None:
    assert {operation for operation, _ in repeated.steps} == {"same"}


def test_other_numbers_change_what_they_are_numbers_of(larger: Result) -> None:
    """No pod of the workload is exchanged."""
    assert larger.changes == {
        SCALED_OBJECT: "update",
        "Deployment gpushare-warm-room-gpu-shares": "update",
    }


def test_a_state_of_before_is_taken_over_without_a_change(older: Result) -> None:
    """From then on it knows what goes with KEDA's release: the next update relies on that."""
    assert {operation for operation, _ in older.steps} == {"same"}


def test_what_keda_scales_by_goes_and_comes_with_it(moved: Result) -> None:
    """The release has the definitions of its kinds in it, and a ScaledObject has a finalizer."""
    objects = {SCALED_OBJECT, "ClusterTriggerAuthentication gpushare-keda-authentication"}
    gone, made = (
        [resource for operation, resource in moved.steps if operation == wanted]
        for wanted in ("delete-replaced", "create-replacement")
    )

    assert set(gone[: gone.index(KEDA)]) == objects
    assert {*made[made.index(KEDA) + 1 :]} == objects
    assert DEPLOYMENT not in {*gone, *made}


def test_destroying_leaves_nothing(destroyed: Result, project: Project) -> None:
    assert destroyed.code == 0
    assert project.state(STACK)["deployment"].get("resources", []) == []


def test_what_keda_has_to_finish_goes_before_keda(destroyed: Result) -> None:
    """A ScaledObject has a finalizer, which nobody takes away once its operator is gone."""
    order = [resource for operation, resource in destroyed.steps if operation == "delete"]
    places = [
        order.index(each)
        for each in (SCALED_OBJECT, KEDA, "PodIdentityAssociation gpushare-keda-operator")
    ]

    assert places == sorted(places)
    assert order.index(DEPLOYMENT) < order.index("NodeGroup gpushare-gpu")
    warm = order.index("Deployment gpushare-warm-room-gpu-nodes")
    assert warm < order.index("NodeGroup gpushare-gpu")
