"""Tenants by the real engine, from the first one to queues and nodes, and back to none."""

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


def test_a_second_tenant_closes_the_nodes_and_a_queue_brings_kueue(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """In one update each: nodes are exchanged in place, and nothing is made twice."""
    sure = {"gpu": {"guaranteed": {"shares": 2}}}
    one: dict[str, Any] = {"namespaces": ["one"], "pools": sure}
    old: dict[str, Any] = {"existingNamespaces": ["old"], "pools": sure}
    alone = edited(time_slicing, "tenants", {"one": one})
    project.init(STACK, alone)
    project.up(STACK, alone)

    two = edited(alone, "tenants", {"one": one, "old": old})
    second = project.up(STACK, two)
    assert second.changes["LaunchTemplate gpushare-gpu-template"] == "update"
    assert second.changes["NodeGroup gpushare-gpu"] == "update"
    assert ("create", "NamespacePatch gpushare-tenants-old-namespace") in second.steps
    assert project.up(STACK, two).changes == {}

    queued = edited(two, "tenants", {"one": {**one, "queue": True}, "old": {**old, "queue": True}})
    third = project.up(STACK, queued)
    made = {what for step, what in third.steps if step == "create"}
    assert {
        "Kueue gpushare-kueue",
        "ClusterQueue gpushare-kueue-queue-one",
        "ClusterQueue gpushare-kueue-queue-old",
        "LocalQueue gpushare-kueue-local-queue-old-default",
        "ResourceFlavor gpushare-kueue-flavor-gpu",
    } <= made
    assert not [what for step, what in third.steps if "replace" in step and "Config" not in what]

    gone = {what for step, what in project.up(STACK, alone).steps if step == "delete"}
    assert "NamespacePatch gpushare-tenants-old-namespace" in gone
    assert "Namespace gpushare-tenants-one-namespace" not in gone
    assert "ClusterQueue gpushare-kueue-queue-old" in gone
    project.destroy(STACK)


def test_a_namespace_that_is_handed_over_stays(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """By its alias: else Pulumi would delete the one that it has made, and the pods in it."""

    def declared(key: str) -> StackFile:
        team = {key: ["team"], "pools": {"gpu": {"guaranteed": {"shares": 2}}}}
        return edited(time_slicing, "tenants", {"team": team})

    ours, theirs = declared("namespaces"), declared("existingNamespaces")
    project.init(STACK, ours)
    project.up(STACK, ours)

    for given in (theirs, ours):
        result = project.up(STACK, given)
        steps = [(step, what) for step, what in result.steps if "-tenants-" in what]
        assert [step for step, _ in steps if step not in {"same", "update"}] == [], steps
    gone = project.up(STACK, time_slicing).steps
    assert ("delete", "Namespace gpushare-tenants-team-namespace") in gone
    project.destroy(STACK)
