"""Tenants by the real engine, from the first one to queues and nodes, and back to none."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

import pytest
from tenant_levels import configuration

from eks_gpushare.lint.stack_side import stack_file_of

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, StackFile


def test_they_are_made_changed_in_place_and_taken_away(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    team: dict[str, Any] = {
        "namespaces": ["team"],
        "pools": {"gpu": {"guaranteed": {"shares": 4}}},
        "admins": ["arn:aws:iam::111122223333:role/Team"],
    }
    declared = edited(time_slicing, "tenants", {"team": team})
    project.init("contracts", declared)

    made = project.up("contracts", declared)
    assert "eks-gpushare:index:Tenants" in made.types
    assert "aws:eks/accessEntry:AccessEntry" in made.types
    assert project.up("contracts", declared).changes == {}

    smaller = {**team, "pools": {"gpu": {"guaranteed": {"shares": 2}}}}
    changed = project.up("contracts", edited(declared, "tenants", {"team": smaller})).changes
    assert "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy" in made.types
    assert changed["ResourceQuota gpushare-tenants-team-quota"] == "update"
    assert not [what for what in changed.values() if "replaced" in what]

    gone = project.up("contracts", time_slicing).steps
    assert ("delete", "Namespace gpushare-tenants-team-namespace") in gone
    project.destroy("contracts")


def test_a_second_tenant_closes_the_nodes_and_a_queue_brings_kueue(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """In one update each: nodes are exchanged in place, and nothing is made twice."""
    sure = {"gpu": {"guaranteed": {"shares": 2}}}
    one: dict[str, Any] = {"namespaces": ["one"], "pools": sure}
    old: dict[str, Any] = {"existingNamespaces": ["old"], "pools": sure}
    alone = edited(time_slicing, "tenants", {"one": one})
    project.init("queues", alone)
    project.up("queues", alone)

    two = edited(alone, "tenants", {"one": one, "old": old})
    second = project.up("queues", two)
    assert second.changes["LaunchTemplate gpushare-gpu-template"] == "update"
    assert second.changes["NodeGroup gpushare-gpu"] == "update"
    assert ("create", "NamespacePatch gpushare-tenants-old-namespace") in second.steps
    assert project.up("queues", two).changes == {}

    queued = edited(two, "tenants", {"one": {**one, "queue": True}, "old": {**old, "queue": True}})
    third = project.up("queues", queued)
    made = {what for step, what in third.steps if step == "create"}
    assert {
        "Kueue gpushare-kueue",
        "ClusterQueue gpushare-kueue-queue-one",
        "ClusterQueue gpushare-kueue-queue-old",
        "LocalQueue gpushare-kueue-local-queue-old-default",
        "ResourceFlavor gpushare-kueue-flavor-gpu",
    } <= made
    assert not [what for step, what in third.steps if "replace" in step and "Config" not in what]

    gone = {what for step, what in project.up("queues", alone).steps if step == "delete"}
    assert "NamespacePatch gpushare-tenants-old-namespace" in gone
    assert "Namespace gpushare-tenants-one-namespace" not in gone
    assert "ClusterQueue gpushare-kueue-queue-old" in gone
    project.destroy("queues")


def test_a_namespace_that_is_handed_over_stays(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    """By its alias: else Pulumi would delete the one that it has made, and the pods in it."""

    def declared(key: str) -> StackFile:
        team = {key: ["team"], "pools": {"gpu": {"guaranteed": {"shares": 2}}}}
        return edited(time_slicing, "tenants", {"team": team})

    ours, theirs = declared("namespaces"), declared("existingNamespaces")
    project.init("handed-over", ours)
    project.up("handed-over", ours)

    for given in (theirs, ours):
        result = project.up("handed-over", given)
        steps = [(step, what) for step, what in result.steps if "-tenants-" in what]
        assert [step for step, _ in steps if step not in {"same", "update"}] == [], steps
    gone = project.up("handed-over", time_slicing).steps
    assert ("delete", "Namespace gpushare-tenants-team-namespace") in gone
    project.destroy("handed-over")


@pytest.mark.parametrize("key", ["namespaces", "existingNamespaces"])
def test_a_namespace_of_workloads_that_becomes_a_tenants_stays(
    project: Project, time_slicing: StackFile, edited: Edit, key: str
) -> None:
    """There and back, by aliases: its resource gets another name, parent and type."""
    chat = {
        "pool": "gpu",
        "namespace": "team",
        "image": "registry.example.com/chat:1",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }
    alone = edited(time_slicing, "workloads", {"chat": chat})
    team = {key: ["team"], "pools": {"gpu": {"guaranteed": {"shares": 2}}}}
    held = edited(alone, "tenants", {"team": team})
    stack = f"of-workloads-{key.lower()}"
    project.init(stack, alone)
    made = project.up(stack, alone)
    assert ("create", "Namespace gpushare-namespace-team") in made.steps

    for given in (held, alone):
        steps = project.up(stack, given).steps
        of_team = [(step, what) for step, what in steps if re.search("Namespace.*-team", what)]
        assert of_team
        assert [step for step, _ in of_team if step not in {"same", "update"}] == [], of_team
        assert project.up(stack, given).changes == {}
    gone = project.up(stack, time_slicing).steps
    assert ("delete", "Namespace gpushare-namespace-team") in gone
    project.destroy(stack)


OF_LEVEL = {
    "quota": {"core/v1:ResourceQuota", "networking.k8s.io/v1:NetworkPolicy"},
    "admission": {"admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"},
    "node": set[str](),
    "queue": {"kueue.x-k8s.io/v1beta2:ClusterQueue", "kueue.x-k8s.io/v1beta2:LocalQueue"},
}
"""What a level brings, and no level before it but the quota."""


@pytest.mark.parametrize("level", OF_LEVEL)
def test_a_level_alone_is_made_and_taken_away(project: Project, level: str) -> None:
    declared = configuration(level, stack_file_of("tenants"))
    stack = f"level-{level}"
    project.init(stack, declared)

    made = project.up(stack, declared)
    types = {each.removeprefix("kubernetes:") for each in made.types}
    expected = OF_LEVEL[level] | (set() if level == "node" else OF_LEVEL["quota"])
    assert types & set[str]().union(*OF_LEVEL.values()) == expected
    template = made.inputs("LaunchTemplate gpushare-slices-template")
    data = base64.b64decode(template["userData"]).decode()
    assert ("envvar-when-unprivileged=false" in data) is (level == "node")
    assert project.up(stack, declared).changes == {}
    gone = project.destroy(stack).steps
    assert len(gone) == len(made.steps)
