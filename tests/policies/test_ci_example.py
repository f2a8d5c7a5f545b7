"""The workflow that users copy: what it may do, and its commands as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from sarif_pydantic import Sarif  # type: ignore[import-untyped]  # no stubs

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ci" / "pull-request.yml"


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


def test_a_job_may_read_the_code_and_no_more_than_it_needs(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]

    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in jobs["check"]
    assert jobs["preview"]["permissions"] == {"contents": "read", "id-token": "write"}


def test_the_job_that_may_write_runs_nothing_of_the_pull_request(workflow: dict[Any, Any]) -> None:
    report = workflow["jobs"]["report"]
    writing = {name for name, what in report["permissions"].items() if what == "write"}

    assert writing == {"pull-requests", "security-events"}
    assert "head.repo.full_name == github.repository" in report["if"]
    assert not [each for each in report["steps"] if "checkout" in each.get("uses", "")]
    assert not re.search(r"python|eks-gpushare|pulumi|\.venv", _commands(workflow, "report"))


def test_actions_are_pinned_by_commit() -> None:
    used = re.findall(r"uses: (.*)", EXAMPLE.read_text(encoding="utf-8"))

    assert used
    assert [
        each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each)
    ] == []


def test_the_engine_runs_the_pack_too(workflow: dict[Any, Any]) -> None:
    command = 'pulumi preview --stack "$STACK" --policy-pack policies'

    assert command in _commands(workflow, "preview")


def test_no_command_holds_an_expression_that_could_be_code(workflow: dict[Any, Any]) -> None:
    assert [job for job in workflow["jobs"] if "${{" in _commands(workflow, job)] == []


GOOD = (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
OPEN = GOOD.replace("publicCidrs: [203.0.113.0/24]", "publicCidrs: [0.0.0.0/0]")


class Repository:
    """A clone of a pull request, and a runner that is in it."""

    def __init__(self, folder: Path, workflow: dict[Any, Any]) -> None:
        self.folder = folder
        self._workflow = workflow
        binaries = folder.parent / "bin"
        binaries.mkdir()
        command = binaries / "eks-gpushare"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eks_gpushare "$@"\n')
        command.chmod(0o755)
        comment = binaries / "gh"
        comment.write_text('#!/bin/sh\necho "$@" > said.txt\ncp comment.md posted.md\n')
        comment.chmod(0o755)
        self._environment = {
            **os.environ,
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "NUMBER": "7",
            "GITHUB_OUTPUT": str(folder.parent / "output"),
        }

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self) -> str:
        self._git("add", "-A")
        self._git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a")
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words],  # noqa: S607  (wherever it is)
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def start(self) -> None:
        self._git("init", "-q")

    def run(self, job: str, base: str = "") -> tuple[dict[str, int], str]:
        """Exit codes of a job's commands by their names, and what they printed."""
        codes, printed = {}, ""
        for step in self._workflow["jobs"][job]["steps"]:
            if "run" not in step or step["name"] == "Install":
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # noqa: S607
                cwd=self.folder,
                env={**self._environment, "BASE": base},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            codes[step["name"]] = done.returncode
            printed += done.stdout
        return codes, printed

    @property
    def results(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "results").iterdir())


@pytest.fixture
def base(tmp_path: Path, workflow: dict[Any, Any]) -> Repository:
    """The branch that a pull request is for, with two stacks, before the request's own commit."""
    made = Repository(tmp_path / "clone", workflow)
    made.folder.mkdir()
    made.start()
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, made.folder)
    made.write("stacks/Pulumi.dev.yaml", GOOD)
    made.write("stacks/Pulumi.staging.yaml", GOOD)
    return made


def test_only_what_has_changed_is_judged_and_marked_where_it_is_wrong(base: Repository) -> None:
    before = base.commit()
    base.write("stacks/Pulumi.dev.yaml", OPEN)
    base.commit()

    codes, printed = base.run("check", before)

    assert codes == {"Changed stacks": 0, "eks-gpushare check": 1, "eks-gpushare policy": 1}
    assert "::error file=stacks/Pulumi.dev.yaml,line=" in printed
    assert "staging" not in printed
    assert base.results == ["check.sarif", "check.txt", "policy-dev.sarif", "policy-dev.txt"]

    told = (base.folder / "results" / "policy-dev.txt").read_text()
    assert told.startswith("dev: the stack cannot be planned, so no policy was run\n  error GPU")
    for name in ("check.sarif", "policy-dev.sarif"):
        text = (base.folder / "results" / name).read_text(encoding="utf-8")
        (run,) = Sarif.model_validate(json.loads(text)).runs
        assert run.results


@pytest.mark.at_length
def test_a_change_of_what_stacks_have_in_common_concerns_all(base: Repository) -> None:
    before = base.commit()
    base.write("requirements.txt", "eks-gpushare\n")
    base.commit()

    codes, printed = base.run("check", before)

    assert set(codes.values()) == {0}
    assert "eks-gpushare policy dev: 0 errors" in printed
    assert "eks-gpushare policy staging: 0 errors" in printed
    assert base.results == [
        "check.sarif",
        "check.txt",
        "policy-dev.sarif",
        "policy-dev.txt",
        "policy-staging.sarif",
        "policy-staging.txt",
    ]

    assert base.run("report")[0] == {"Find SARIF": 0, "Comment": 0}
    assert (base.folder / "said.txt").read_text() == (
        "pr comment 7 --body-file comment.md --edit-last --create-if-none\n"
    )
    assert "staging: ok, 0 mandatory" in (base.folder / "posted.md").read_text()


@pytest.mark.parametrize("change", ["README.md", "stacks/Pulumi.dev.yaml"])
def test_a_request_that_leaves_no_stack_to_judge_passes(base: Repository, change: str) -> None:
    before = base.commit()
    if change.endswith(".yaml"):
        (base.folder / change).unlink()
    else:
        base.write(change, "# Read me\n")
    base.commit()

    codes, _ = base.run("check", before)

    assert set(codes.values()) == {0}
    assert base.results == []
    assert base.run("report")[0] == {"Find SARIF": 0, "Comment": 0}


def test_what_the_other_branch_has_changed_meanwhile_is_not_the_requests(base: Repository) -> None:
    fork = base.commit()
    git: Callable[..., str] = base._git  # noqa: SLF001  (this test moves between branches)
    git("checkout", "-q", "-b", "request")
    base.write("stacks/Pulumi.dev.yaml", f"{GOOD}# a word\n")
    base.commit()
    git("checkout", "-q", "-b", "main", fork)
    base.write("stacks/Pulumi.staging.yaml", OPEN)
    newer = base.commit()
    git("checkout", "-q", "request")

    codes, printed = base.run("check", newer)

    assert set(codes.values()) == {0}
    assert "staging" not in printed
