"""`pulumi up --plan`: an update does what the preview has promised, for a new stack and later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.engine.conftest import Edit, Project, Result, StackFile

STACK = "plans"
CONFIG, RELEASE = "gpushare-device-plugin-config", "gpushare-device-plugin-release"
FEWER = {f"ConfigMap {CONFIG}": "replaced, the new one first", f"Release {RELEASE}": "update"}


@pytest.fixture
def stack(project: Project, time_slicing: StackFile) -> Iterator[StackFile]:
    """A stack that is not up yet."""
    project.init(STACK, time_slicing)
    yield time_slicing
    project.destroy(STACK)
    project.remove(STACK)


@pytest.fixture
def planned(project: Project, tmp_path: Path) -> Callable[[StackFile], Mapping[str, str]]:
    """`planned(stack)`: saves what a preview would do, and has an update do that and no more."""
    plan = str(tmp_path / "plan.json")

    def up(content: StackFile) -> Mapping[str, str]:
        previewed = project.preview(STACK, content, "--save-plan", plan)
        updated = project.up(STACK, None, "--plan", plan)

        assert updated.changes == previewed.changes
        return updated.changes

    return up


def name_of_config(project: Project) -> str:
    """What the device plugin's ConfigMap is called, and is called by the release."""
    state = project.state(STACK)["deployment"]["resources"]
    inputs = {each["urn"].rpartition("::")[2]: each.get("inputs", {}) for each in state}
    name: str = inputs[CONFIG]["metadata"]["name"]

    assert inputs[RELEASE]["values"]["config"]["name"] == name
    return name


def test_a_plan_holds_for_a_new_stack_and_for_each_edit_of_it(
    project: Project,
    stack: StackFile,
    edited: Edit,
    planned: Callable[[StackFile], Mapping[str, str]],
) -> None:
    here = edited(stack, "cluster", {"existing": {"name": "demo"}})
    for block, key in (("", "system"), ("", "network"), ("pools.gpu", "zones")):
        given: Any = here["eks-gpushare:environment"]
        for part in block.split(".") if block else ():
            given = given[part]
        given.pop(key, None)
    created, first = planned(here), name_of_config(project)
    changed, second = (
        planned(edited(here, "pools.gpu.sharing.replicas", 4)),
        name_of_config(project),
    )
    back, third = planned(here), name_of_config(project)

    assert set(created.values()) == {"create"}
    assert changed == back == FEWER
    assert len({first, second, third}) == 3
    assert planned(here) == {}


def test_a_plan_holds_for_each_edit_of_a_stack_with_its_own_cluster(
    project: Project,
    stack: StackFile,
    edited: Edit,
    planned: Callable[[StackFile], Mapping[str, str]],
) -> None:
    project.up(STACK, stack)

    assert planned(edited(stack, "pools.gpu.sharing.replicas", 4)) == FEWER
    assert planned(stack) == FEWER
    assert planned(stack) == {}


def test_the_engine_takes_no_plan_for_a_new_cluster_of_pulumi_eks(
    project: Project, stack: StackFile, tmp_path: Path
) -> None:
    """It holds a resource that is an output for another one once its id is known.

    `ResourceReference.Equal` in sdk/go/common/resource/properties.go of pulumi/pulumi, 3.260. When
    this fails, docs/upgrades.md need not say any more that the first update goes without a plan.
    """
    plan = str(tmp_path / "plan.json")
    project.preview(STACK, stack, "--save-plan", plan)
    refused: Result = project.up(STACK, None, "--plan", plan, fails=True)
    violated = [each for each in refused.text.splitlines() if "violates plan" in each]

    assert violated
    assert not [each for each in violated if "eks:index:Cluster" not in each]
