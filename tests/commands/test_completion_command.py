"""Completion as shells ask for it, with the shells that are there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]

LINES = {
    "eks-gpushare pre": ["preview"],
    "eks-gpushare preview mp": ["mps"],
    "eks-gpushare preview mi": ["mig-balanced", "mig-time-slicing", "mig-uniform"],
    "eks-gpushare policy --program . ti": ["time-slicing", "time-slicing-v100"],
    "eks-gpushare lab run mu": ["multi-tenant"],
    "eks-gpushare preview dev --bef": ["--before"],
    "eks-gpushare init --mode ": ["exclusive", "mig", "mps", "timeSlicing"],
    "eks-gpushare init --mode=t": ["timeSlicing"],
    "eks-gpushare init --manager ": ["devicePlugin", "gpuOperator"],
    "eks-gpushare init --type g4": [
        *("g4dn.12xlarge", "g4dn.16xlarge", "g4dn.2xlarge", "g4dn.4xlarge", "g4dn.8xlarge"),
        *("g4dn.metal", "g4dn.xlarge"),
    ],
    "eks-gpushare init --region eu-w": ["eu-west-1", "eu-west-2", "eu-west-3"],
    "eks-gpushare mig check p4": ["p4d.24xlarge", "p4de.24xlarge"],
    "eks-gpushare mig layouts g4": [],
    "eks-gpushare mig check p4d.24xlarge all-1": ["all-1g.10gb", "all-1g.5gb", "all-1g.5gb.me"],
    "eks-gpushare mig check A30-24GB all-4": ["all-4g.24gb"],
    "eks-gpushare findings GPU00": [f"GPU00{n}" for n in range(1, 10)],
    "eks-gpushare check stacks/Pulumi.mp": ["stacks/Pulumi.mps.yaml"],
    "eks-gpushare preview stacks/Pulumi.mp": ["stacks/Pulumi.mps.yaml"],
    "eks-gpushare completion ": ["bash", "fish", "zsh"],
}


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for PATH that holds the command."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "eks-gpushare"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom eks_gpushare.cli import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    return str(folder)


def shell(name: str, script: str, commands: str) -> list[str]:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"there is no {name} on this machine")
    done = subprocess.run(
        [program, "-c", f"PATH={commands}:$PATH\n{script}"]
        if name != "fish"
        else [program, "--no-config", "-c", f"set PATH {commands} $PATH\n{script}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


BASH = """
source <(eks-gpushare completion bash)
complete -p eks-gpushare
ask() {
    COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9 COMPREPLY=()
    read -ra COMP_WORDS <<< "${1//=/ = }"
    [[ $1 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _python_argcomplete eks-gpushare "${COMP_WORDS[COMP_CWORD]}"
    printf '%s' "$1:"
    printf '%s\\t' "${COMPREPLY[@]}"
    printf '\\n'
}
"""


def test_bash_completes_verbs_stacks_types_layouts_and_files(commands: str) -> None:
    asked = "".join(f"ask '{line}'\n" for line in LINES)
    registered, *answers = shell("bash", BASH + asked, commands)
    found = {
        line: sorted(word.strip() for word in words.split("\t") if word)
        for line, _, words in (answer.partition(":") for answer in answers)
    }

    assert registered.endswith(" -F _python_argcomplete eks-gpushare")
    assert found == LINES


def test_fish_completes_the_same(commands: str) -> None:
    lines = [line for line in LINES if not line.endswith(" ")]
    asked = "".join(f"echo '>'; complete -C '{line}'\n" for line in lines)
    out = shell("fish", f"eks-gpushare completion fish | source\n{asked}", commands)
    answers = "\n".join(out).split(">")[1:]
    found = {
        line: sorted(word.partition("\t")[0] for word in answer.split("\n") if word)
        for line, answer in zip(lines, answers, strict=True)
    }

    assert {line: found[line] for line in lines if "=" not in line} == {
        line: LINES[line] for line in lines if "=" not in line
    }


def test_zsh_takes_the_script(commands: str) -> None:
    script = """
    autoload -U compinit && compinit -u -D
    source <(eks-gpushare completion zsh)
    print -- $_comps[eks-gpushare]
    """

    assert shell("zsh", script, commands) == ["_python_argcomplete"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(name: str, run: Run) -> None:
    ran = run("completion", name)

    assert ran.code == 0
    assert "eks-gpushare" in ran.out
    assert run("completion", name, "--json").json == {"shell": name, "script": ran.out[:-1]}


def test_another_shell_is_wrong_usage(run: Run) -> None:
    assert run("completion", "cmd").code == 2
