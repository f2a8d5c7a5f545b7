"""The CronJob of the examples: its rights are those of `--rbac`, and nothing here is against it."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from eks_gpushare.catalog import versions
from eks_gpushare.cli import main
from eks_gpushare.live.kinds import cluster_role
from eks_gpushare.sharing.verifier import USER

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "verify" / "cronjob.yaml"
OBJECTS = {given["kind"]: given for given in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))}


def test_lint_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--fail-on", "info", str(FILE)]) == 0
    assert "ok" in capsys.readouterr().out


def test_its_role_is_the_one_that_is_printed() -> None:
    binding = OBJECTS["ClusterRoleBinding"]
    spec = OBJECTS["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]

    assert binding["roleRef"]["name"] == "eks-gpushare-verify"
    assert cluster_role("eks-gpushare-verify")["kind"] == binding["roleRef"]["kind"]
    assert binding["subjects"][0]["name"] == spec["serviceAccountName"]


def test_its_words_are_a_command_of_verify() -> None:
    (container,) = OBJECTS["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"][
        "containers"
    ]
    words = [
        str(ROOT / "stacks" / "Pulumi.time-slicing.yaml") if word.startswith("/stack/") else word
        for word in container["args"]
    ]

    assert main([*words, "--from", str(ROOT / "examples" / "verify" / "cluster.json")]) == 0


@pytest.fixture
def dockerfile() -> list[tuple[str, str]]:
    """The instructions that docs/verify.md builds the image by, with their arguments."""
    text = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```dockerfile\n(.*?)```", text, re.DOTALL)
    lines = (line.partition(" ") for line in block.replace("\\\n", " ").splitlines())
    return [(instruction, rest.strip()) for instruction, _, rest in lines]


def test_the_image_is_built_on_one_that_does_not_move(dockerfile: list[tuple[str, str]]) -> None:
    pinned = versions.PYTHON

    first, base = dockerfile[0]
    assert first == "FROM"
    assert base == f"{pinned.repository}:{pinned.tag}@{pinned.digest}"


def test_the_image_has_this_release_of_the_checks_and_nothing_besides(
    dockerfile: list[tuple[str, str]],
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    (ran,) = (rest for instruction, rest in dockerfile if instruction == "RUN")
    wanted = f"{project['name']}=={project['version']}"
    assert shlex.split(ran) == ["pip", "install", "--no-cache-dir", wanted]


def test_the_image_runs_the_command_as_the_user_of_its_pod(
    dockerfile: list[tuple[str, str]],
) -> None:
    """As a number: `runAsNonRoot` cannot tell of a name whether it is root."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    last = dict(dockerfile)

    assert [instruction for instruction, _ in dockerfile] == ["FROM", "RUN", "USER", "ENTRYPOINT"]
    assert last["USER"] == f"{USER}:{USER}"
    (command,) = json.loads(last["ENTRYPOINT"])
    assert command in project["scripts"]
