"""The hooks as pre-commit runs them: installed by it from a clone, in another repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_gpushare.cli import _VERBS

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
MANIFEST = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
STACK = ROOT / "stacks" / "Pulumi.time-slicing.yaml"
RELEASED = (".pre-commit-hooks.yaml", "LICENSE", "components", "pyproject.toml")
"""What of the repository the hooks are made of."""
NODES = """\
resource "kubernetes_pod" "model" {
  metadata {
    name = "model"
  }
  spec {
    container {
      name = "main"
      resources {
        limits = { "nvidia.com/gpu" = "0.5" }
      }
    }
  }
}
"""
HEAVY = ("pulumi", "pulumi_aws", "grpc", "rich")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    words = ("git", *identity, *command[1:]) if command[0] == "git" else command
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


def repository(folder: Path) -> Path:
    """Make a folder a repository of one commit."""
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=All")):
        done = run("git", *words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("hook", MANIFEST, ids=lambda hook: hook["id"])
def test_a_hook_runs_a_verb(hook: dict[str, Any]) -> None:
    command, verb = hook["entry"].split()

    assert command == "eks-gpushare"
    assert verb in _VERBS
    assert hook["id"] == f"eks-gpushare-{verb}"


def test_the_manifest_is_one_of_pre_commit() -> None:
    done = run(sys.executable, "-m", "pre_commit", "validate-manifest", HOOKS, cwd=ROOT)

    assert done.returncode == 0, done.stdout


def test_the_documentation_names_the_hooks_and_the_version(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(repos:\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(block, encoding="utf-8")
    done = run(sys.executable, "-m", "pre_commit", "validate-config", config, cwd=tmp_path)
    (source,) = yaml.safe_load(block)["repos"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert done.returncode == 0, done.stdout
    assert (source["repo"], source["rev"]) == (
        project["urls"]["Repository"],
        f"v{project['version']}",
    )
    assert [hook["id"] for hook in source["hooks"]] == [hook["id"] for hook in MANIFEST]


def test_stack_files_are_checked_and_projects_are_not() -> None:
    (pattern,) = (hook["files"] for hook in MANIFEST if hook["id"] == "eks-gpushare-check")

    for name in ("Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml", "stacks/Pulumi.eu-1.yml"):
        assert re.search(pattern, name), name
    for name in ("Pulumi.yaml", "stacks/dev.yaml", "MyPulumi.dev.yaml", "Pulumi.dev.yaml.md"):
        assert not re.search(pattern, name), name


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose hooks are those of this one, installed by pre-commit."""
    folder = tmp_path_factory.mktemp("hooks")
    pin = next(
        line
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("tomli-w==")
    )
    fetch = ("-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "index", pin)
    if run(sys.executable, *fetch, cwd=folder).returncode:
        pytest.skip("there is no package index, from which pre-commit installs")
    ours = folder / "ours"
    ours.mkdir()
    for name in RELEASED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, ours)
    revision = run("git", "rev-parse", "HEAD", cwd=repository(ours)).stdout.strip()
    theirs = folder / "theirs"
    theirs.mkdir()
    hooks = [{"id": hook["id"]} for hook in MANIFEST]
    config = {"repos": [{"repo": str(ours), "rev": revision, "hooks": hooks}]}
    (theirs / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return repository(theirs)


@pytest.fixture
def commit(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a text into a file, and say how pre-commit judges the commit."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(theirs.parent / "home"))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)

    def judged(name: str, text: str) -> subprocess.CompletedProcess[str]:
        (theirs / name).write_text(text, encoding="utf-8")
        run("git", "add", name, cwd=theirs)
        done = run(sys.executable, "-m", "pre_commit", "run", "--color=never", cwd=theirs)
        run("git", "reset", "--hard", "--quiet", cwd=theirs)
        return done

    return judged


@pytest.mark.slow
@pytest.mark.at_length
def test_a_commit_passes_with_a_good_stack_file_and_fails_with_a_broken_one(commit: Any) -> None:
    good = STACK.read_text(encoding="utf-8")
    passed = commit("Pulumi.dev.yaml", good)
    failed = commit("Pulumi.dev.yaml", good.replace("mode: timeSlicing", "mode: timeslicing"))

    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert re.search(r"^eks-gpushare check\.+Passed$", passed.stdout, re.MULTILINE)
    assert failed.returncode == 1
    assert re.search(r"^eks-gpushare check\.+Failed$", failed.stdout, re.MULTILINE)
    assert re.search(r"error GPU006 at line \d+, pools\.gpu\.sharing\.mode\n", failed.stdout)


@pytest.mark.slow
@pytest.mark.at_length
@pytest.mark.parametrize(("name", "code"), [("good", 0), ("bad", 1)])
def test_a_commit_fails_with_a_manifest_that_is_wrong(commit: Any, name: str, code: int) -> None:
    example = ROOT / "examples" / "lint" / "GPU1020" / f"{name}.yaml"
    done = commit("manifest.yaml", example.read_text(encoding="utf-8"))

    assert done.returncode == code, done.stdout + done.stderr
    assert ("GPU1020" in done.stdout) == bool(code)


@pytest.mark.slow
@pytest.mark.at_length
def test_a_commit_fails_with_a_root_of_terraform_that_is_wrong(commit: Any) -> None:
    done = commit("nodes.tf", NODES)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "GPU1114" in done.stdout


@pytest.mark.slow
@pytest.mark.at_length
def test_a_hook_brings_no_pulumi(commit: Any, theirs: Path) -> None:
    commit("manifest.yaml", "a: 1\n")
    (site,) = (theirs.parent / "home").glob("repo*/py_env*/lib/python*/site-packages")

    assert (site / "eks_gpushare" / "lint").is_dir()
    assert [name for name in HEAVY if (site / name).exists()] == []
