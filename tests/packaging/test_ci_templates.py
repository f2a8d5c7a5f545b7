"""The action and GitLab's template: their own lines, run by bash in somebody else's repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github/actions/lint/action.yml"
TEMPLATE = ROOT / "examples/ci/gitlab/eks-gpushare-lint.gitlab-ci.yml"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: %s}}}]}
"""
COMMAND = Path(sys.executable).parent / "eks-gpushare"
SHELLCHECK = shutil.which("shellcheck") or str(Path(sys.executable).parent / "shellcheck")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / ".git").mkdir(parents=True)
    (folder / "a b").mkdir()
    (folder / "a b" / "wrong.yaml").write_text(POD % "0.5")
    (folder / "right.yaml").write_text(POD % "1")
    return folder


def document(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def bash(script: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        # As runners of GitHub and GitLab call it.
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=cwd,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def step(theirs: Path, tmp_path: Path) -> Any:
    """Run the step of the action that lints, with its inputs."""
    (tmp_path / "eks-gpushare" / "bin").mkdir(parents=True)
    (tmp_path / "eks-gpushare" / "bin" / "eks-gpushare").symlink_to(COMMAND)
    action = document(ACTION)
    (script,) = (each["run"] for each in action["runs"]["steps"] if each.get("id") == "lint")
    defaults = {name: each["default"] for name, each in action["inputs"].items()}

    def run(**inputs: str) -> tuple[subprocess.CompletedProcess[str], str]:
        given = {**defaults, **inputs}
        output = tmp_path / "output"
        output.write_text("")
        done = bash(
            script,
            theirs,
            PATHS=given["paths"],
            ARGS=given["args"],
            SARIF=given["sarif"],
            RUNNER_TEMP=str(tmp_path),
            GITHUB_OUTPUT=str(output),
        )
        return done, output.read_text()

    return run


def test_the_action_marks_lines_and_fails(step: Any, theirs: Path) -> None:
    done, output = step(sarif="out/lint.sarif")

    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=a b/wrong.yaml,line=4,col=")
    assert output == "sarif=out/lint.sarif\n"
    (run,) = json.loads((theirs / "out" / "lint.sarif").read_text())["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["GPU1114"]


def test_the_action_takes_paths_with_blanks_on_lines_of_their_own(step: Any) -> None:
    assert step(paths="right.yaml")[0].returncode == 0
    assert step(paths="right.yaml\na b/wrong.yaml\n")[0].returncode == 1
    assert step(paths="a b\n", args="--fail-on never")[0].returncode == 0


def test_the_action_gives_inputs_as_words_and_runs_none_of_them(step: Any, theirs: Path) -> None:
    done, _ = step(paths="$(touch${IFS}harm) ;touch harm", args="--ignore GPU1114;touch")

    assert done.returncode == 2
    assert not (theirs / "harm").exists()
    text = ACTION.read_text(encoding="utf-8")
    for each in document(ACTION)["runs"]["steps"]:
        assert "${{" not in each.get("run", ""), text


def test_the_action_installs_the_commit_that_it_is_of() -> None:
    (install,) = (
        each for each in document(ACTION)["runs"]["steps"] if each.get("name") == "Install"
    )
    up = install["env"]["SOURCE"].removeprefix("${{ github.action_path }}/")

    assert (ACTION.parent / up).resolve() == ROOT
    assert '"${SOURCE}[terraform]"' in install["run"]


def test_all_of_them_bring_what_reads_files_of_terraform() -> None:
    """Without it such files are a note, and nothing in them is found."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extra,) = set(project["optional-dependencies"]) - {"aws", "completion"}
    (template,) = document(TEMPLATE)["eks-gpushare-lint"]["before_script"]
    hooks = document(ROOT / ".pre-commit-hooks.yaml")

    assert extra == "terraform"
    assert f'"{project["name"]}[{extra}]==$EKS_GPUSHARE_VERSION"' in template
    assert [hook["additional_dependencies"] for hook in hooks] == [[f".[{extra}]"]] * len(hooks)


@pytest.mark.parametrize("file", [ACTION, TEMPLATE], ids=lambda file: file.stem)
def test_shellcheck_finds_nothing(file: Path, tmp_path: Path) -> None:
    value = document(file)
    if file == ACTION:
        scripts = [each["run"] for each in value["runs"]["steps"] if "run" in each]
        allowed = ""
    else:
        job = value["eks-gpushare-lint"]
        scripts = ["\n".join((*job["before_script"], *job["script"]))]
        allowed = "SC2086"  # words with blanks between are what these variables are
    for script in scripts:
        (tmp_path / "script").write_text(f"#!/bin/bash\n{script}\n")
        words = [SHELLCHECK, f"--exclude={allowed or 'SC0000'}", str(tmp_path / "script")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("paths", "code"), [(".", 1), ("right.yaml", 0)])
def test_the_lines_of_gitlabs_template(paths: str, code: int, theirs: Path) -> None:
    job = document(TEMPLATE)["eks-gpushare-lint"]
    variables = {**job["variables"], "EKS_GPUSHARE_PATHS": paths}

    done = bash("\n".join(job["script"]), theirs, **variables)
    assert done.returncode == code, done.stderr
    reports = job["artifacts"]["reports"]
    assert (theirs / reports["junit"]).read_text().startswith("<?xml")
    found = json.loads((theirs / reports["codequality"]).read_text())
    assert [(each["check_name"], each["location"]["path"]) for each in found] == (
        [("GPU1114", "a b/wrong.yaml")] * code
    )


def test_the_template_has_the_version_of_this_package() -> None:
    from eks_gpushare import __version__

    job = document(TEMPLATE)["eks-gpushare-lint"]
    assert job["variables"]["EKS_GPUSHARE_VERSION"] == __version__
