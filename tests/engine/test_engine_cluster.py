"""What a cluster's keys do to resources that another process registers, and in which order.

eks.Cluster of pulumi-eks makes the control plane, its role and the access entries. The engine asks
this program to transform them, which the in-process run only imitates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, Result, StackFile

PLATFORM = "arn:aws:iam::111122223333:role/Platform"
CALLER = "arn:aws:iam::111122223333:role/team/Assumed"
"""Whom the fakes take the caller to be: a session of this role."""
BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"
CLUSTER = "Cluster gpushare-cluster-eks-eksCluster"
SERVICE_ROLE = "Role gpushare-cluster-eks-eksRole-role"
NODE_ROLES = ["Role gpushare-gpu-role", "Role gpushare-system-role"]


def bootstraps(project: Project, stack: str) -> bool:
    """Whether EKS was told to make the creator an admin."""
    found = resource(project, stack, CLUSTER)
    admin: bool = found["inputs"]["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]
    return admin


def resource(project: Project, stack: str, name: str) -> dict[str, Any]:
    """A resource by the last word of its type and its name: others have the same name."""
    resources: list[dict[str, Any]] = project.state(stack)["deployment"]["resources"]
    kind, _, own = name.partition(" ")
    return next(each for each in resources if each["urn"].endswith(f":{kind}::{own}"))


def roles(result: Result) -> list[str]:
    return sorted(name for _, name in result.steps if name.startswith("Role "))


@pytest.fixture(scope="module")
def by_others(project: Project, time_slicing: StackFile, edited: Edit) -> Result:
    """A cluster whose creator is none of its admins."""
    project.init("by-others", edited(time_slicing, "cluster.admins", [PLATFORM]))
    return project.up("by-others")


@pytest.fixture(scope="module")
def by_an_admin(project: Project, time_slicing: StackFile, edited: Edit) -> Result:
    """A cluster that one of its admins creates."""
    project.init("by-an-admin", edited(time_slicing, "cluster.admins", [CALLER, PLATFORM]))
    return project.up("by-an-admin")


def test_eks_makes_a_creator_an_admin_who_is_in_no_list(
    by_others: Result, project: Project
) -> None:
    assert by_others.code == 0
    assert bootstraps(project, "by-others") is True


def test_eks_makes_no_entry_for_an_admin_of_the_list(by_an_admin: Result, project: Project) -> None:
    """It would refuse the one of the stack with 409 ResourceInUseException."""
    assert by_an_admin.code == 0
    assert bootstraps(project, "by-an-admin") is False
    made = [name for op, name in by_an_admin.steps if name.startswith("AccessEntry ")]
    assert sorted(made) == [
        "AccessEntry gpushare-cluster-eks-111122223333-role/Platform",
        "AccessEntry gpushare-cluster-eks-111122223333-role/team/Assumed",
    ]


def test_who_runs_the_program_later_changes_no_cluster(
    by_others: Result, project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """The program answers otherwise now; EKS takes the answer at creation only."""
    assert by_others.code == 0
    config = edited(time_slicing, "cluster.admins", [PLATFORM, CALLER])

    assert project.up("by-others", config).changes == {
        "AccessEntry gpushare-cluster-eks-111122223333-role/team/Assumed": "create",
        (
            "AccessPolicyAssociation gpushare-cluster-eks-111122223333-role/team/Assumed-admin"
        ): "create",
    }
    assert bootstraps(project, "by-others") is True


def test_charts_go_before_the_entries_that_they_are_removed_with(
    by_an_admin: Result, project: Project
) -> None:
    assert by_an_admin.code == 0
    steps = [name for op, name in project.destroy("by-an-admin").steps if op == "delete"]
    entries = [n for n, each in enumerate(steps) if each.startswith("AccessPolicyAssociation ")]

    assert steps.index("Release gpushare-device-plugin-release") < min(entries)


def test_boundary_and_path_are_those_of_every_role(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    config = edited(time_slicing, "cluster.addons", {"ebsCsi": True})
    config = edited(config, "iam", {"permissionsBoundary": BOUNDARY, "path": "/team/"})
    config = edited(config, "network.flowLogs", value=True)
    project.init("bounded", config)
    made = project.up("bounded")

    assert roles(made) == sorted(
        [
            SERVICE_ROLE,
            *NODE_ROLES,
            "Role gpushare-cluster-ebs-csi",
            "Role gpushare-network-flow-logs",
        ]
    )
    for name in roles(made):
        given = resource(project, "bounded", name)["inputs"]
        assert (given["permissionsBoundary"], given["path"]) == (BOUNDARY, "/team/"), name


def test_a_boundary_for_roles_that_are_there_replaces_nothing(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    project.init("unbounded", time_slicing)
    project.up("unbounded")
    bounded = project.up(
        "unbounded", edited(time_slicing, "iam", {"permissionsBoundary": BOUNDARY})
    )

    assert bounded.changes == dict.fromkeys([SERVICE_ROLE, *NODE_ROLES], "update")

    moved = project.up(
        "unbounded",
        edited(time_slicing, "iam", {"permissionsBoundary": BOUNDARY, "path": "/team/"}),
    )

    assert (CLUSTER in moved.changes, SERVICE_ROLE in moved.changes) == (False, False)
    assert {moved.changes[name] for name in NODE_ROLES} == {"replaced, the new one first"}


def test_a_log_group_that_eks_made_is_taken_over(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """The command is the one of docs/upgrades.md."""
    project.init("logged", time_slicing)
    project.up("logged")
    project.engine.run(
        project.directory,
        *("import", "--yes", "--stack", "logged", "--generate-code=false", "--protect=false"),
        "aws:cloudwatch/logGroup:LogGroup",
        "gpushare-cluster-logs",
        "/aws/eks/gpusharing-demo/cluster",
    )
    kept = project.up("logged", edited(time_slicing, "cluster.logRetentionDays", 90))

    assert kept.changes == {"LogGroup gpushare-cluster-logs": "update"}
