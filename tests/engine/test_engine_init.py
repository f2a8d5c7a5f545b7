"""What `init` writes is a project that the engine runs, with the pack that `policy` writes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.engine.conftest import Project

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.conftest import Engine, Result


@pytest.fixture(scope="module")
def written(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project as `init` leaves it, called otherwise than this repository's, with a stack."""
    folder: Path = tmp_path_factory.mktemp("first") / "my-gpus"
    words = ("--mode", "timeSlicing", "--region", "us-west-2", "--yes")
    assert main(["init", str(folder), *words]) == 0
    assert main(["policy", "--write-pack", str(folder / "policies")]) == 0
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    engine.run(folder, "stack", "init", "dev")
    return Project(engine, folder)


@pytest.fixture(scope="module")
def previewed(written: Project) -> Result:
    return written.preview("dev", None, "--policy-pack", "policies")


def test_the_engine_registers_the_environment(previewed: Result) -> None:
    assert "eks-gpushare:index:GpuSharingEnvironment" in previewed.types
    assert previewed.errors == []


def test_the_written_pack_has_nothing_to_say(previewed: Result) -> None:
    assert {level for _, level, _, _ in previewed.violations} <= {"advisory"}


def test_a_secret_in_the_environment_is_refused_in_any_project(written: Project) -> None:
    before = written.stack_file("dev").read_text(encoding="utf-8")
    key = "eks-gpushare:environment.tags.token"
    words = ("config", "set", "--secret", "--path", key, "hunter2", "--stack", "dev")
    written.engine.run(written.directory, *words)
    refused = written.preview("dev", None, fails=True)
    written.stack_file("dev").write_text(before, encoding="utf-8")

    assert "GPU010" in refused.errors[0]
    assert "hunter2" not in refused.text


def test_a_kubeconfig_that_is_not_there_is_refused_in_the_words_of_check(
    written: Project,
) -> None:
    existing = {"kubeconfig": "~/no/such/kubeconfig"}
    pool = {"provisioner": "existing", "instanceTypes": ["g6.xlarge"]}
    environment = {
        "cluster": {"existing": existing},
        "pools": {"gpu": {**pool, "sharing": {"mode": "exclusive"}}},
    }
    written.init("lost", {"eks-gpushare:environment": environment})
    refused = written.preview("lost", None, fails=True)

    assert "GPU470 cluster.existing.kubeconfig: ~/no/such/kubeconfig (" in refused.errors[0]
