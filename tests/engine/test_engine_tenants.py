"""Tenants by the real engine: made, unchanged, told of a smaller contract, and gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, StackFile

STACK = "tenants"


def test_they_are_made_changed_in_place_and_taken_away(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    team: dict[str, Any] = {
        "namespaces": ["team"],
        "pools": {"gpu": {"guaranteed": {"shares": 4}}},
        "admins": ["arn:aws:iam::111122223333:role/Team"],
    }
    declared = edited(time_slicing, "tenants", {"team": team})
    project.init(STACK, declared)

    made = project.up(STACK, declared)
    assert "eks-gpushare:index:Tenants" in made.types
    assert "aws:eks/accessEntry:AccessEntry" in made.types
    assert project.up(STACK, declared).changes == {}

    smaller = {**team, "pools": {"gpu": {"guaranteed": {"shares": 2}}}}
    changed = project.up(STACK, edited(declared, "tenants", {"team": smaller})).changes
    assert "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy" in made.types
    assert changed["ResourceQuota gpushare-tenants-team-quota"] == "update"
    assert not [what for what in changed.values() if "replaced" in what]

    gone = project.up(STACK, time_slicing).steps
    assert ("delete", "Namespace gpushare-tenants-team-namespace") in gone
    project.destroy(STACK)
