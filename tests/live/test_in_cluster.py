"""The CronJob of the examples: its rights are those of `--rbac`, and nothing here is against it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from eks_gpushare.cli import main
from eks_gpushare.live.kinds import cluster_role

if TYPE_CHECKING:
    import pytest

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
