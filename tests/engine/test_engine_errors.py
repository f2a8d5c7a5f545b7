from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine.conftest import Edit, Project, Result, StackFile

# The engine adds this to every error that a program ends with.
ENGINES_OWN = "an unhandled error occurred: program exited with non-zero exit code: 1"
MISTAKES = """\
the stack file has 3 errors:
  GPU005 pools.gpu.nodes.max: "2" is text; a whole number is expected. Write 2, without quotes.
  GPU003 pools.gpu.rootVolumeGib: rootVolumeGib is not a key of this block. \
Did you mean rootVolumeGiB?
  GPU201 pools.gpu.sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. \
Set 2 or more, or mode: exclusive for a pod per GPU."""


@pytest.fixture(scope="module")
def three_mistakes(project: Project, time_slicing: StackFile, edited: Edit) -> Result:
    """A preview of a stack file with an unknown key, a wrong type and a wrong value."""
    config = edited(time_slicing, "pools.gpu.rootVolumeGib", 300)
    config = edited(config, "pools.gpu.nodes.max", "2")
    config = edited(config, "pools.gpu.sharing.replicas", 1)
    project.init("mistakes", config)
    return project.preview("mistakes", fails=True)


def test_all_mistakes_are_printed_as_one_error(three_mistakes: Result) -> None:
    assert three_mistakes.errors == [MISTAKES, ENGINES_OWN]


def test_mistakes_bring_no_traceback(three_mistakes: Result) -> None:
    assert "Traceback" not in three_mistakes.text


def test_mistakes_exit_with_1(three_mistakes: Result) -> None:
    assert three_mistakes.code == 1


def test_mistakes_register_nothing_but_the_stack(three_mistakes: Result) -> None:
    assert three_mistakes.types == {"pulumi:pulumi:Stack"}


@pytest.fixture(scope="module")
def with_secret(project: Project, time_slicing: StackFile) -> Project:
    """A stack to whose tags somebody has added a secret with the engine's own command."""
    project.init("secret", time_slicing)
    key = "eks-gpushare:environment.tags.token"
    project.engine.run(
        project.directory,
        "config",
        "set",
        "--secret",
        "--path",
        key,
        "hunter2",
        "--stack",
        "secret",
    )
    return project


TAG_REFUSED = """\
the stack file has 1 error:
  GPU010 config.eks-gpushare:environment.tags.token: A secret inside the environment would be in \
plain text in the state. Keep secrets out of it; nothing in an environment needs one."""


def test_a_secret_in_the_environment_is_refused_by_a_preview(with_secret: Project) -> None:
    result = with_secret.preview("secret", fails=True)

    assert result.errors == [TAG_REFUSED, ENGINES_OWN]
    assert result.types == {"pulumi:pulumi:Stack"}


def test_a_secret_in_the_environment_never_gets_into_the_state(with_secret: Project) -> None:
    args = ("up", "--yes", "--skip-preview", "--stack", "secret")
    result = with_secret.engine.run(with_secret.directory, *args, fails=True)
    secrets = ["--show-secrets", "--stack", "secret"]
    state = with_secret.engine.run(with_secret.directory, "stack", "export", *secrets).text

    assert result.errors == [TAG_REFUSED, ENGINES_OWN]
    assert "hunter2" not in result.text + state


def test_a_stray_key_is_refused_by_the_program(project: Project, time_slicing: StackFile) -> None:
    project.init("stray", {**time_slicing, "eks-gpushare:tags": {"team": "ml"}})
    result = project.preview("stray", fails=True)

    assert result.errors == [
        (
            "the stack file has 1 error:\n  GPU009 config.eks-gpushare:tags: eks-gpushare reads "
            "eks-gpushare:environment only. It stands one level in: write "
            "eks-gpushare:environment: {tags: ...}."
        ),
        ENGINES_OWN,
    ]


def test_a_cluster_that_is_not_there_is_one_clean_message(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    config = edited(time_slicing, "cluster", {"existing": {"name": "nope"}})
    for key in ("network", "system"):
        del config["eks-gpushare:environment"][key]
    del config["eks-gpushare:environment"]["pools"]["gpu"]["zones"]
    project.init("missing", config)
    result = project.preview("missing", fails=True)

    assert result.errors == [
        (
            "cluster.existing.name: AWS does not give the EKS cluster nope: invoke of "
            "aws:eks/getCluster:getCluster failed: invocation of aws:eks/getCluster:getCluster "
            "returned an error: reading EKS Cluster (nope): couldn't find resource. "
            "Check the name, aws:region, and that your credentials may describe it."
        ),
        ENGINES_OWN,
    ]
    assert "Traceback" not in result.text
    assert result.code == 1


def test_deletion_protection_refuses_to_destroy(
    project: Project, time_slicing: StackFile, edited: Edit
) -> None:
    config = edited(time_slicing, "cluster.deletionProtection", value=True)
    project.init("protected", config)
    project.up("protected")
    before = _urns(project, "protected")
    refused = project.destroy("protected", preview=True, fails=True)

    assert "protect" in refused.text
    assert _urns(project, "protected") == before


def _urns(project: Project, stack: str) -> list[str]:
    resources: list[dict[str, Any]] = project.state(stack)["deployment"]["resources"]
    return [resource["urn"] for resource in resources]
