"""Where `policy` takes its pack from, and the pack as files for the engine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from eks_gpushare.program.policies.pack_files import bundled_pack, files_for, packs_beside
from eks_gpushare.program_verbs import policy

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The program in a folder without a pack."""
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks/Pulumi.mps.yaml", tmp_path / "stacks")
    return tmp_path


def test_a_program_without_a_pack_gets_that_of_the_package(project: Path, run: Run) -> None:
    ran = run("policy", "mps", cwd=project)

    assert ran.code == 0
    assert ran.out.endswith("\nThe pack is the one of this package.\n")


def test_json_says_which_pack_it_was(project: Path, run: Run) -> None:
    where = {"path": str(bundled_pack()), "bundled": True, "passedOver": []}

    assert run("policy", "mps", "--json", cwd=project).json["pack"] == where


def test_a_folder_of_policies_of_another_tool_is_no_pack(project: Path) -> None:
    (project / "policies").mkdir()
    (project / "policies/pods.rego").write_text("package pods\n", encoding="utf-8")

    assert packs_beside(project) == []


@pytest.mark.parametrize(
    ("folder", "runtime", "how"),
    [
        ("policies", "python", "--pack policies"),
        ("guard", "{name: nodejs}", "pulumi preview --policy-pack guard"),
        ("opa", "opa", "pulumi preview --policy-pack opa"),
    ],
)
def test_a_pack_beside_the_program_is_passed_over_with_a_word(
    project: Path, run: Run, folder: str, runtime: str, how: str
) -> None:
    (project / folder).mkdir()
    (project / folder / "PulumiPolicy.yaml").write_text(f"runtime: {runtime}\n")
    (project / folder / "__main__.py").write_text("raise SystemExit(0)\n")
    ran = run("policy", "mps", cwd=project)

    assert ran.code == 0
    assert ran.out.endswith(
        "\nThe pack is the one of this package.\n"
        f"The pack in {folder} is passed over; {how} has it judge.\n"
    )


def test_a_pack_of_another_language_is_the_engines(project: Path, run: Run) -> None:
    (project / "guard").mkdir()
    (project / "guard/PulumiPolicy.yaml").write_text("runtime: nodejs\n")
    ran = run("policy", "mps", "--pack", "guard", cwd=project)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "eks-gpushare: guard is a policy pack in nodejs, which the engine runs: pulumi preview "
        "--policy-pack guard.\n"
    )


def test_the_written_pack_judges_as_the_one_of_the_package(project: Path, run: Run) -> None:
    before = run("policy", "mps", "--json", cwd=project).json
    written = run("policy", "--write-pack", "policies", cwd=project)
    after = run("policy", "mps", "--pack", "policies", "--json", cwd=project).json

    assert written.code == 0
    assert written.out.splitlines()[0].endswith("files written to policies. Go on with")
    assert after["violations"] == before["violations"]
    assert after["pack"] == {"path": "policies", "bundled": False, "passedOver": []}


@pytest.mark.parametrize(
    ("directory", "environment"),
    [("policies", "../.venv"), (".", ".venv"), ("ci/packs/gpu", "../../../.venv")],
)
def test_the_written_pack_runs_in_the_environment_of_its_project(
    project: Path, directory: str, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    file = Path(directory) / "PulumiPolicy.yaml"

    runtime = yaml.safe_load(files_for(Path(directory))[file])["runtime"]

    assert runtime == {"name": "python", "options": {"toolchain": "pip", "virtualenv": environment}}


@pytest.mark.parametrize(
    "project_file",
    [
        None,
        "name: a\nruntime: nodejs\n",
        "name: a\nruntime: python\n",
        "name: a\nruntime: {name: python, options: {toolchain: uv}}\n",
    ],
)
def test_without_an_environment_of_the_project_the_pack_names_none(
    project_file: str | None, tmp_path: Path
) -> None:
    if project_file:
        (tmp_path / "Pulumi.yaml").write_text(project_file, encoding="utf-8")
    text = files_for(tmp_path / "policies")[tmp_path / "policies/PulumiPolicy.yaml"]

    assert yaml.safe_load(text)["runtime"]["options"] == {"toolchain": "pip"}


def test_a_pack_is_not_written_over_another_unless_told(project: Path, run: Run) -> None:
    own = project / "policies/__main__.py"
    own.parent.mkdir()
    own.write_text("mine\n", encoding="utf-8")

    refused = run("policy", "--write-pack", "policies", cwd=project)

    assert refused.code == 2
    assert refused.err == (
        "eks-gpushare: policies holds 1 of the pack's files: --force replaces them\n"
    )
    assert [own.read_text(encoding="utf-8"), len(list(own.parent.iterdir()))] == ["mine\n", 1]
    forced = run("policy", "--write-pack", "policies", "--force", "--json", cwd=project)
    assert forced.code == 0
    assert "policies/__main__.py" in forced.json["files"]
    assert own.read_text(encoding="utf-8") != "mine\n"


def test_a_folder_that_is_not_there_is_said_to_be_missing(project: Path, run: Run) -> None:
    ran = run("policy", "mps", "--pack", "nowhere", cwd=project)

    assert ran.code == 2
    assert ran.err == (
        "eks-gpushare: The policy pack nowhere is not there. Name the directory of a pack "
        "with --pack.\n"
    )


def test_without_the_sdk_the_command_says_what_to_install(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "find_spec", lambda _name: None)

    ran = run("policy", "mps", cwd=project)

    assert ran.code == 2
    assert ran.err == (
        "eks-gpushare: The policy SDK is not installed: pip install 'eks-gpushare[policy]'\n"
    )


def test_a_stack_or_a_folder_to_write_to_has_to_be_named(project: Path, run: Run) -> None:
    ran = run("policy", cwd=project)

    assert ran.code == 2
    assert ran.err == "eks-gpushare: name a STACK, or give --program, --state or --write-pack\n"
