"""What looks at the cluster, by the real engine: made, unchanged, and told of an edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, StackFile

IMAGE = "registry.example.com/eks-gpushare-verify:0.1.0"
STACK = "verified"


@pytest.fixture(scope="module")
def declared(project: Project, time_slicing: StackFile, edited: Edit) -> dict[str, Any]:
    found: dict[str, Any] = edited(time_slicing, "verifier", {"image": IMAGE})
    project.init(STACK, found)
    return found


def test_it_is_made_told_of_an_edit_and_nothing_changes_without_one(
    project: Project, declared: dict[str, Any], edited: Edit
) -> None:
    made = project.up(STACK, declared)
    assert "eks-gpushare:index:ShareVerifier" in made.types
    assert "kubernetes:batch/v1:CronJob" in made.types

    assert project.up(STACK, declared).changes == {}

    sharing = {"mode": "timeSlicing", "replicas": 4}
    changed = project.up(STACK, edited(declared, "pools.gpu.sharing", sharing)).changes
    assert {name: what for name, what in changed.items() if "verifier" in name} == {
        "ConfigMap gpushare-verifier-stack": "replaced, the new one first",
        "CronJob gpushare-verifier-verify": "update",
    }

    last = project.state(STACK)["deployment"]["resources"]
    (text,) = (
        resource["inputs"]["data"]["Pulumi.stack.yaml"]
        for resource in last
        if resource["urn"].endswith("::gpushare-verifier-stack") and not resource.get("delete")
    )
    pool = json.loads(text)["config"]["eks-gpushare:environment"]["pools"]["gpu"]
    assert pool["sharing"]["replicas"] == 4


def test_a_deployment_takes_the_place_of_a_cron_job(
    project: Project, declared: dict[str, Any], edited: Edit
) -> None:
    project.up(STACK, declared)
    often = edited(declared, "verifier", {"image": IMAGE, "intervalSeconds": 60})
    steps = project.up(STACK, often).steps

    of_it = {step for step in steps if "gpushare-verifier" in step[1] and step[0] != "same"}
    assert of_it == {
        ("update", "ShareVerifier gpushare-verifier"),
        ("create", "Deployment gpushare-verifier-verify"),
        ("create", "Service gpushare-verifier-metrics"),
        ("delete", "CronJob gpushare-verifier-verify"),
    }
    project.destroy(STACK)
