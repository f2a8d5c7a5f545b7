"""What `check` refuses of a stack file apart from its environment, the program refuses too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.run import run_program
from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.stack_file.check import check_file

if TYPE_CHECKING:
    from eks_gpushare.program.recording import Recording

ROOT = Path(__file__).parents[2]
ENVIRONMENT: dict[str, Any] = {
    "cluster": {"name": "demo", "version": "1.35", "admins": ["arn:aws:iam::111122223333:role/A"]},
    "network": {"zones": ["us-west-2a", "us-west-2b"]},
    "pools": {"gpu": {"instanceTypes": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}},
}
CONFIG = {"aws:region": "us-west-2", "eks-gpushare:environment": ENVIRONMENT}
SECRET = {"secure": "v1:AAABAKmRt3Zs"}
REFUSED = (
    "A secret inside the environment would be in plain text in the state. Keep secrets out of it; "
    "nothing in an environment needs one."
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of this repository's program, without stacks."""
    for name in ("Pulumi.yaml", "__main__.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "stacks").mkdir()
    return tmp_path


def run(project: Path, content: object, *, file: str = "stacks/Pulumi.dev.yaml") -> Recording:
    """Run the program with a stack file, as the engine would with its content decrypted."""
    path = project / file
    path.write_text(json.dumps(content), encoding="utf-8")
    given = read_stack_config(path)
    return run_program(
        project,
        project="eks-gpushare",
        stack="dev",
        config=given.values,
        secret_keys=given.secret_keys,
    )


def refused(recording: Recording) -> list[str]:
    """The errors that the program ended with, before it registered anything."""
    assert recording.error is not None
    assert [each.type for each in recording.resources] == ["pulumi:pulumi:Stack"]
    return [line.strip() for line in recording.error.text.splitlines()[1:]]


def checked(path: Path) -> list[str]:
    return [
        str(each).removeprefix("error ")
        for each in check_file(path).findings
        if each.severity == "error"
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"eks-gpushare:environment": {**ENVIRONMENT, "tags": {"team": "ml", "token": SECRET}}},
        {"eks-gpushare:environment": {**ENVIRONMENT, "pools": {"gpu": SECRET}}},
        {
            "eks-gpushare:environment": {
                **ENVIRONMENT,
                "network": {"zones": ["us-west-2a", SECRET]},
            }
        },
        {"eks-gpushare:enviroment": {"cluster": {}}},
        {"eks-gpushare:environments": "x", "aws:regoin": "us-west-2"},
        {"aws:region": "Oregon"},
    ],
)
def test_the_program_refuses_what_check_refuses(project: Path, changes: dict[str, object]) -> None:
    recording = run(project, {"config": {**CONFIG, **changes}})
    expected = checked(project / "stacks/Pulumi.dev.yaml")

    assert expected
    assert sorted(refused(recording)) == sorted(expected)


def test_a_key_beside_config_is_refused_by_the_program(project: Path) -> None:
    recording = run(project, {"config": CONFIG, "confg": {"aws:profile": "ml"}})

    assert refused(recording) == [
        "GPU009 confg: confg is not a key of a stack file. Did you mean config?"
    ]


def test_a_misspelt_environment_is_not_merely_missing(project: Path) -> None:
    config = {"aws:region": "us-west-2", "eks-gpushare:enviroment": ENVIRONMENT}
    codes = [line.split()[0] for line in refused(run(project, {"config": config}))]

    assert codes == ["GPU009"]


def test_a_secret_that_no_file_shows_is_refused_as_a_whole(project: Path) -> None:
    """As with --config-file, or from Pulumi ESC."""
    tags = {"token": SECRET}
    content = {"config": {**CONFIG, "eks-gpushare:environment": {**ENVIRONMENT, "tags": tags}}}
    recording = run(project, content, file="elsewhere.yaml")

    assert refused(recording) == [f"GPU010 config.eks-gpushare:environment: {REFUSED}"]


def test_another_file_of_the_name_does_not_count(project: Path) -> None:
    other = {"config": {"aws:region": "eu-west-1"}, "confg": 1}
    (project / "stacks/Pulumi.dev.yaml").write_text(json.dumps(other), encoding="utf-8")
    recording = run(project, {"config": CONFIG}, file="elsewhere.yaml")

    assert recording.error is None


def test_secrets_of_other_keys_are_no_concern(project: Path) -> None:
    recording = run(project, {"config": {**CONFIG, "aws:secretKey": SECRET}})

    assert recording.error is None
