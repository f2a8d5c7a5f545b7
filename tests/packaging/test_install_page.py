"""The lines of docs/install.md and docs/first-stack.md, as somebody types them.

Shells run them in folders of their own, in new virtual environments, with wheels of this folder.
Every line of a block in `sh` is run, or it stands in `NOT_HERE` with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.test_docs import blocks_of

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
NOT_HERE: Final = {
    "git clone https://github.com/eks-gpushare/eks-gpushare": "it is this folder",
    "cd eks-gpushare": "it is this folder",
    "make demo": "`.ci/run` does it beside the tests",
    "make venv": "the first thing that `.ci/run` does",
    "eks-gpushare lab run dev --apply workload.yaml": "tests/lab",
    "pulumi login": "an account, or a state as tests/engine have it",
    "pulumi stack init dev": "tests/engine",
    "pulumi up --stack dev": "tests/engine",
    "pulumi stack output kubeconfig --show-secrets --stack dev > kubeconfig.json": "AWS",
    "KUBECONFIG=kubeconfig.json kubectl apply -f workload.yaml": "AWS",
    "KUBECONFIG=kubeconfig.json kubectl logs deployment/gpu-test": "AWS",
}
"""Lines that no test here runs, and where they are proven or what they need."""


def lines_of(page: str, language: str = "sh") -> list[list[str]]:
    """The lines of each block, without comments."""
    return [
        [line.split("   #")[0].strip() for line in block.text.splitlines() if line.strip()]
        for block in blocks_of(ROOT / "docs" / page)
        if block.language == language
    ]


CREATE, CLONE, BUILD, COMPLETION = lines_of("install.md")
FIRST, ENTER, _LAB, UP = lines_of("first-stack.md")
RUN: Final = [*CREATE, *BUILD, *COMPLETION, *FIRST, *ENTER, "pulumi install"]


def typed(lines: Sequence[str], folder: Path, **told: str) -> str:
    """What a shell prints that stops at the first line that fails."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "PIP_"))}
    kept |= {key: text for key, text in os.environ.items() if key.startswith("PIP_INDEX")}
    done = subprocess.run(
        ["sh", "-euc", "\n".join(line for line in lines if line not in NOT_HERE)],  # noqa: S607
        cwd=folder,
        env={**kept, **told},
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, f"{lines}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_every_line_is_run_or_has_a_reason() -> None:
    blocks = (CREATE, CLONE, BUILD, COMPLETION, FIRST, ENTER, _LAB, UP)
    given = {line for block in blocks for line in block}

    assert given == {*RUN, *NOT_HERE}


def test_completion_is_written_for_each_shell(tmp_path: Path) -> None:
    for folder in (".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    typed(COMPLETION, tmp_path, HOME=str(tmp_path), PATH=path)

    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) == len(COMPLETION)
    assert all("eks-gpushare" in file.read_text(encoding="utf-8") for file in written)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the lines that build wheels have been typed; in its `dist` they lie."""
    folder = tmp_path_factory.mktemp("clone")
    left = shutil.ignore_patterns(".*", "__pycache__", "tests", "build", "dist")
    shutil.copytree(ROOT, folder, ignore=left, dirs_exist_ok=True)
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    typed([line for line in BUILD if "-m build" in line], folder)
    return folder / "dist"


@pytest.mark.at_length
def test_an_empty_environment_gets_the_command(dist: Path, tmp_path: Path) -> None:
    """From wheels in place of an index that does not have them yet, as the page says."""
    printed = typed([*CREATE, BUILD[-1], *FIRST[2:]], tmp_path, PIP_FIND_LINKS=str(dist))

    assert any(line.startswith("eks-gpushare ") for line in printed.splitlines())
    venv = tmp_path / ".venv" / "bin"
    shown = typed([f"{venv}/eks-gpushare --version", f"{venv}/eks-gpushare lab --help"], tmp_path)
    assert shown.startswith("eks-gpushare ")


@pytest.mark.at_length
@pytest.mark.skipif(shutil.which("pulumi") is None, reason="no pulumi on PATH")
def test_pulumi_installs_what_init_writes(dist: Path, tmp_path: Path) -> None:
    """The environment alone: plugins come from the internet."""
    project = tmp_path / "my-gpus"
    words = ("--mode", "timeSlicing", "--yes", "--find-links", str(dist))
    assert main(["init", str(project), *words]) == 0
    home = {"PULUMI_HOME": str(tmp_path / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}

    typed([*ENTER, "pulumi install --no-plugins"], tmp_path, **home)

    shown = typed([f"{project}/.venv/bin/eks-gpushare check --quiet stacks/*.yaml"], project)
    assert shown.startswith("stacks/Pulumi.dev.yaml: ok")
