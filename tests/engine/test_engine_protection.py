"""Deletion protection: what leaves a protected stack by an edit goes, and nothing else does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.preview import record
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import find_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tests.engine.conftest import Edit, Project, Result, StackFile

    Urns: TypeAlias = Callable[[str], list[str]]

ALICE = "arn:aws:iam::111122223333:role/Alice"
BOB = "arn:aws:iam::111122223333:role/Bob"
GUARD = "DeletionProtection gpushare-deletion-protection"
BOBS = {
    "AccessEntry gpushare-cluster-eks-111122223333-role/Bob": "delete",
    "AccessPolicyAssociation gpushare-cluster-eks-111122223333-role/Bob-admin": "delete",
}


@pytest.fixture(scope="module")
def protected(time_slicing: StackFile, edited: Edit) -> dict[str, Any]:
    """The time-slicing stack as people have it who leave the default: protected, with admins."""
    config = edited(time_slicing, "cluster.deletionProtection", value=True)
    config = edited(config, "cluster.addons", {"ebsCsi": True})
    return edited(config, "cluster.admins", [ALICE, BOB])


@pytest.fixture(scope="module")
def urns(project: Project) -> Urns:
    """`urns(stack)`: all that the stack has, but for default providers, which are nowhere."""

    def of(stack: str) -> list[str]:
        resources: list[dict[str, Any]] = project.state(stack)["deployment"].get("resources", [])
        every = (resource["urn"] for resource in resources)
        return sorted(urn for urn in every if "::default" not in urn)

    return of


def deleted(result: Result) -> dict[str, str]:
    return {name: word for name, word in result.changes.items() if word == "delete"}


def protected_urns(resources: list[dict[str, Any]]) -> list[str]:
    return sorted(each["urn"] for each in resources if each.get("protect"))


# The tests of this stack build on each other: each is an update of what the one before left.
LIVE = "protection"


@pytest.fixture(scope="module")
def created(project: Project, protected: StackFile) -> Result:
    """The first update."""
    project.init(LIVE, protected)
    return project.up(LIVE)


def test_the_plan_of_registrations_protects_what_the_engine_protects(
    created: Result, project: Project
) -> None:
    """Also among the children of a component that a plugin builds, who inherit it."""
    assert created.code == 0
    plan = record(find_project(project.directory), check_file(project.stack_file(LIVE)), LIVE)
    planned = [resource.as_json() for resource in plan.resources]

    assert protected_urns(planned) == protected_urns(project.state(LIVE)["deployment"]["resources"])


@pytest.fixture(scope="module")
def refused(created: Result, project: Project, urns: Urns) -> tuple[list[str], Result, list[str]]:
    """An attempt to destroy it without a preview, with what there was before and after."""
    assert created.code == 0
    before = urns(LIVE)
    return before, project.destroy(LIVE, fails=True), urns(LIVE)


def test_destroying_without_a_preview_deletes_nothing_at_all(
    refused: tuple[list[str], Result, list[str]],
) -> None:
    before, _, after = refused

    assert after == before


def test_destroying_says_what_protects(refused: tuple[list[str], Result, list[str]]) -> None:
    _, result, _ = refused

    assert 'DeletionProtection::gpushare-deletion-protection" cannot be deleted' in result.text
    assert "because it is protected" in result.text


@pytest.fixture(scope="module")
def without_bob(
    refused: tuple[list[str], Result, list[str]],
    project: Project,
    protected: StackFile,
    edited: Edit,
) -> tuple[Result, Result]:
    """Preview and update that take a role from the admins."""
    assert refused[1].code != 0
    config = edited(protected, "cluster.admins", [ALICE])
    return project.preview(LIVE, config), project.up(LIVE)


def test_an_admin_who_leaves_goes_in_one_update(without_bob: tuple[Result, Result]) -> None:
    preview, update = without_bob

    assert (preview.changes, update.changes) == (BOBS, BOBS)


@pytest.fixture(scope="module")
def rebuilt(
    without_bob: tuple[Result, Result], project: Project, protected: StackFile, edited: Edit
) -> Result:
    """An update that takes away an add-on, and puts the GPU Operator and a pool into others' place.

    Charts are deleted before they are replaced, pools after.
    """
    assert without_bob[1].code == 0
    config = edited(protected, "cluster.admins", [ALICE])
    config = edited(config, "cluster.addons", {"ebsCsi": False})
    config = edited(config, "gpuStack", {"manager": "gpuOperator"})
    pools = config["eks-gpushare:environment"]["pools"]
    return project.up(LIVE, edited(config, "pools", {"other": pools["gpu"]}))


def test_what_leaves_by_an_edit_goes_under_protection(rebuilt: Result) -> None:
    gone = {name.split()[0] for name in deleted(rebuilt)}

    assert gone >= {"Addon", "NodeGroup", "LaunchTemplate", "Role", "RolePolicyAttachment"}
    assert rebuilt.changes["Release gpushare-device-plugin-release"].startswith("replaced")


def test_after_that_nothing_is_left_to_do_and_destroying_still_deletes_nothing(
    rebuilt: Result, project: Project, urns: Urns
) -> None:
    assert rebuilt.code == 0
    repeated = project.up(LIVE)
    before = urns(LIVE)
    project.destroy(LIVE, fails=True)

    assert repeated.changes == {}
    assert urns(LIVE) == before


def test_protection_goes_together_with_an_admin_and_then_everything_can(
    rebuilt: Result, project: Project, protected: StackFile, edited: Edit, urns: Urns
) -> None:
    assert rebuilt.code == 0
    config = edited(protected, "cluster.deletionProtection", value=False)
    config = edited(config, "cluster.admins", [BOB])
    update = project.up(LIVE, config)
    project.destroy(LIVE)

    assert "AccessEntry gpushare-cluster-eks-111122223333-role/Alice" in deleted(update)
    assert urns(LIVE) == []


def as_0_1_0_left_it(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a protected stack whose last update was made by version 0.1.0.

    Access entries were children of the `eks.Cluster` and protected with it; nothing guarded the
    rest.
    """
    inner, beside = "EksCluster$eks:index:Cluster$aws:eks/accessEntry", "EksCluster$aws:eks/access"
    text = json.dumps(state).replace(beside + "Entry", inner)
    old: dict[str, Any] = json.loads(text)
    resources = old["deployment"]["resources"]
    component = next(r["urn"] for r in resources if r["type"] == "eks:index:Cluster")
    for resource in resources:
        if resource["type"].startswith("aws:eks/access"):
            resource["protect"] = True
            if resource["type"] == "aws:eks/accessEntry:AccessEntry":
                resource["parent"] = component
    guards = "eks-gpushare:index:DeletionProtection"
    old["deployment"]["resources"] = [r for r in resources if r["type"] != guards]
    return old


@pytest.fixture
def of_0_1_0(
    project: Project, protected: StackFile, request: pytest.FixtureRequest, urns: Urns
) -> str:
    """A protected stack that version 0.1.0 has made."""
    stack = f"old-{request.node.name.split('_')[1]}"
    project.init(stack, protected)
    project.up(stack)
    project.set_state(stack, as_0_1_0_left_it(project.state(stack)))
    assert any("eks:index:Cluster$aws:eks/accessEntry" in urn for urn in urns(stack))
    return stack


def test_a_stack_of_0_1_0_gets_its_guard_and_loses_nothing(
    of_0_1_0: str, project: Project, protected: StackFile, edited: Edit
) -> None:
    first = project.up(of_0_1_0)
    second = project.up(of_0_1_0, edited(protected, "cluster.admins", [ALICE]))

    assert ("create", GUARD) in first.steps
    assert set(first.changes.values()) <= {"update"}
    assert second.changes == BOBS


def test_an_admin_can_not_leave_a_stack_of_0_1_0_in_the_first_update(
    of_0_1_0: str, project: Project, protected: StackFile, edited: Edit
) -> None:
    """The engine goes by the state, which says protected, and which no program can change first.

    Its message says how to go on; an update with the file as it was does it too.
    """
    config = edited(protected, "cluster.admins", [ALICE])
    refused = project.preview(of_0_1_0, config, fails=True)
    project.up(of_0_1_0, protected)
    update = project.up(of_0_1_0, config)

    assert "role/Bob-admin" in refused.text
    assert "pulumi state unprotect" in refused.text
    assert update.changes == BOBS
