"""The lines of docs/install.md and docs/first-stack.md, as somebody types them.

Shells run them in folders of their own, in new virtual environments, with wheels of this folder.
Every line of a block in `sh` is run, or it stands in `NOT_HERE` with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from tests.unit.test_docs import PAGES, blocks_of

import eks_gpushare
from eks_gpushare.scaffold.texts import RELEASED

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
NOT_HERE: Final = {
    "git clone https://github.com/eks-gpushare/eks-gpushare": "it is this folder",
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
INSTALL_PAGE: Final = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
OF_A_RELEASE: Final = re.compile(
    r"(pip|tool) install[^\n`]* '?\"?eks-gpushare|@v0\.|rev: v0\.|--find-links eks-gpushare"
)
"""What installs this package from an index, and what names a tag of its repository."""
UNTIL_THEN: Final = re.compile("until (a|the first) release|no release is on PyPI", re.IGNORECASE)
HISTORY: Final = ("CHANGELOG.md", "docs/decisions/0030-checks.md")
"""Pages that tell what was, and lead nobody."""


def lines_of(page: str, language: str = "sh") -> list[list[str]]:
    """The lines of each block, without comments."""
    return [
        [line.split("   #")[0].strip() for line in block.text.splitlines() if line.strip()]
        for block in blocks_of(ROOT / "docs" / page)
        if block.language == language
    ]


BUILD, CREATE, COMPLETION = lines_of("install.md")
FIRST, ENTER, _LAB, UP = lines_of("first-stack.md")
(INIT,) = (
    line.removeprefix("$ ")
    for block in lines_of("first-stack.md", "console")
    for line in block
    if line.startswith("$ eks-gpushare init") and "--find-links" in line
)
RUN: Final = [*BUILD, *CREATE, *COMPLETION, *FIRST, *ENTER, "pulumi install"]


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
    blocks = (BUILD, CREATE, COMPLETION, FIRST, ENTER, _LAB, UP)
    given = {line for block in blocks for line in block}

    assert given == {*RUN, *NOT_HERE}


def test_whether_there_is_a_release_is_known() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert (f"## [{eks_gpushare.__version__}] - " in changes) is RELEASED


def test_until_the_first_release_no_page_leads_to_one() -> None:
    """What is of the index or of a tag says where it is until then, and no longer than then."""
    wrong = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        said = bool(UNTIL_THEN.search(text)) and ("from-a-clone" in text or "From a clone" in text)
        if said != (not RELEASED and bool(OF_A_RELEASE.search(text))):
            wrong.append(page.relative_to(ROOT).as_posix())

    assert wrong == [*HISTORY] * (not RELEASED)


def test_completion_is_written_for_each_shell(tmp_path: Path) -> None:
    for folder in (".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    typed(COMPLETION, tmp_path, HOME=str(tmp_path), PATH=path)

    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) == len(COMPLETION)
    assert all("eks-gpushare" in file.read_text(encoding="utf-8") for file in written)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a clone in which the lines that build wheels have been typed."""
    folder = tmp_path_factory.mktemp("beside")
    left = shutil.ignore_patterns(".*", "__pycache__", "tests", "build", "dist")
    clone = shutil.copytree(ROOT, folder / "eks-gpushare", ignore=left)
    (clone / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    typed(BUILD, folder)
    return folder


@pytest.mark.at_length
def test_an_empty_environment_gets_the_command(beside: Path) -> None:
    printed = typed([*CREATE, *FIRST, "eks-gpushare lab --help"], beside)

    assert any(line.startswith("eks-gpushare 0.") for line in printed.splitlines())
    assert "usage: eks-gpushare lab" in printed


@pytest.mark.at_length
@pytest.mark.skipif(shutil.which("pulumi") is None, reason="no pulumi on PATH")
def test_pulumi_installs_what_init_writes(beside: Path) -> None:
    """The environment alone: plugins come from the internet."""
    home = {"PULUMI_HOME": str(beside / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    typed([INIT], beside, PATH=path)

    typed([*ENTER, "pulumi install --no-plugins"], beside, **home)

    project = beside / "my-gpus"
    shown = typed([f"{project}/.venv/bin/eks-gpushare check --quiet stacks/*.yaml"], project)
    assert shown.startswith("stacks/Pulumi.dev.yaml: ok")


@pytest.mark.at_length
def test_a_commit_is_installed_without_a_clone(beside: Path) -> None:
    """The line of the table for CI, from a repository that this folder is."""
    (line,) = re.findall(r"`(pip install '[^`]+@ git\+URL@COMMIT[^`]+)`", INSTALL_PAGE)
    made = ("git init -q", "git add -A", "git -c user.name=a -c user.email=a@b.c commit -qm 1")
    commit = typed([*made, "git rev-parse HEAD"], beside / "eks-gpushare").strip()
    url = f"file://localhost{beside / 'eks-gpushare'}"
    line = line.replace("URL", url).replace("COMMIT", commit)

    printed = typed(
        ["python3 -m venv ci", ". ci/bin/activate", line, "eks-gpushare --version"], beside
    )

    assert printed.splitlines()[-1] == f"eks-gpushare {eks_gpushare.__version__}"
