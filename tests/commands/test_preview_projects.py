"""Programs that are named by their folder, and what their project gives to all stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Run

PROGRAM = """
import pulumi
config = pulumi.Config()
pulumi.export("got", {key: config.get(key) for key in ("size", "layout", "place", "flag")})
pulumi.export("region", pulumi.Config("aws").get("region"))
"""
CONFIG = """
  aws:region: us-west-2
  size: 4
  flag: true
  mine:layout: {value: {b: [1, x], a: 2}}
  place: {type: string, description: Where., default: here}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text(f"name: mine\nruntime: python\nconfig:{CONFIG}")
    (folder / "__main__.py").write_text(PROGRAM)
    return folder


def test_a_program_without_stack_files_has_the_configuration_of_its_project(
    run: Run, project: Path
) -> None:
    ran = run("preview", "mine", "--json", cwd=project.parent)

    assert (ran.code, ran.json["stack"]) == (0, "dev")
    assert ran.json["outputs"] == {
        "got": {"flag": "true", "layout": '{"a":2,"b":[1,"x"]}', "place": "here", "size": "4"},
        "region": "us-west-2",
    }
    assert ran.json["cost"]["region"] == "us-west-2"


def test_a_stack_goes_over_its_project(run: Run, project: Path) -> None:
    text = "config:\n  aws:region: eu-west-1\n  mine:size: 5\n"
    (project / "Pulumi.prod.yaml").write_text(text)

    ran = run("preview", ".", "--json", cwd=project)

    assert ran.json["stack"] == "prod"
    assert ran.json["outputs"]["region"] == "eu-west-1"
    assert ran.json["outputs"]["got"]["size"] == "5"


def test_of_several_stacks_one_has_to_be_named(run: Run, project: Path) -> None:
    for name in ("prod", "test"):
        (project / f"Pulumi.{name}.yaml").write_text("config: {}\n")

    ran = run("preview", str(project))

    assert ran.code == 2
    assert ran.err == f"eks-gpushare: {project} has the stacks prod, test: name one of them.\n"


def test_a_stack_goes_before_a_folder_of_its_name(run: Run, project: Path) -> None:
    (project / "Pulumi.prod.yaml").write_text("config:\n  aws:region: eu-west-1\n")
    (project / "prod").mkdir()

    assert run("preview", "prod", "--json", cwd=project).json["stack"] == "prod"


def test_a_misspelt_stack_file_is_not_taken_for_none(run: Run, project: Path) -> None:
    (project / "Pulumi.prod.yaml").write_text("config: {}\n")

    assert run("preview", str(project / "Pulumi.dev.yaml")).code == 2


def test_what_a_project_requires_of_its_stacks_is_required(run: Run, project: Path) -> None:
    with (project / "Pulumi.yaml").open("a") as file:
        file.write("  owner: {type: string}\n  other:key: {}\n")

    ran = run("preview", str(project))

    assert ran.code == 2
    assert "The stack dev does not set owner, which " in ran.err


def test_policies_judge_a_program_that_is_named_alone(run: Run, project: Path) -> None:
    program = 'import pulumi\n\npulumi.ComponentResource("mine:index:One", "one")\n'
    (project / "__main__.py").write_text(program)

    ran = run("policy", "--program", str(project), "--json")

    assert (ran.code, ran.json["violations"]) == (0, [])
