from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci" / "pull-request.yml"


@pytest.fixture
def workflow() -> dict[Any, Any]:
    loaded = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def _commands(workflow: dict[Any, Any], job: str) -> str:
    return "\n".join(step.get("run", "") for step in workflow["jobs"][job]["steps"])


def test_it_runs_on_pull_requests_without_their_secrets(workflow: dict[Any, Any]) -> None:
    triggers = workflow[True]  # YAML 1.1 reads the key `on` so

    assert list(triggers) == ["pull_request"]


def test_a_job_may_read_the_code_and_no_more(workflow: dict[Any, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["preview"]["permissions"] == {"contents": "read", "id-token": "write"}


@pytest.mark.parametrize(
    ("job", "command"),
    [
        ("check", "eks-gpushare check stacks/Pulumi.*.yaml"),
        ("check", 'eks-gpushare policy "$file"'),
        ("preview", 'pulumi preview --stack "$STACK" --policy-pack policies'),
    ],
)
def test_each_of_the_three_checks_is_run(job: str, command: str, workflow: dict[Any, Any]) -> None:
    assert command in _commands(workflow, job)


def test_no_command_holds_an_expression_that_could_be_code(workflow: dict[Any, Any]) -> None:
    assert [job for job in workflow["jobs"] if "${{" in _commands(workflow, job)] == []
