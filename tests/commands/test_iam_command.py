"""`eks-gpushare iam`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.permissions import policy as iam
from eks_gpushare.program.permissions.iam_actions import ACTIONS

if TYPE_CHECKING:
    import pytest
    from tests.conftest import Run

STATEMENT = {"Effect", "Action", "Resource"}


def by_action(policy: dict[str, Any], action: str) -> list[dict[str, Any]]:
    return [each for each in policy["Statement"] if action in each["Action"]]


def test_it_prints_a_policy_and_a_word_about_it(run: Run) -> None:
    ran = run("iam", "time-slicing")

    policy = json.loads(ran.out)
    assert ran.code == 0
    assert policy["Version"] == "2012-10-17"
    assert all(set(each) - {"Condition"} == STATEMENT for each in policy["Statement"])
    first, *_ = ran.err.splitlines()
    assert first.startswith("time-slicing: ")
    assert first.endswith(" characters")


def test_with_json_it_says_nothing_else(run: Run) -> None:
    ran = run("iam", "time-slicing", "--json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.json == json.loads(run("iam", "time-slicing").out)


def test_arns_are_of_the_stacks_region_and_any_account(run: Run) -> None:
    (statement,) = by_action(run("iam", "time-slicing", "--json").json, "eks:DeleteCluster")

    assert "arn:aws:eks:us-west-2:*:cluster/gpusharing-demo" in statement["Resource"]


def test_an_account_is_put_into_every_arn(run: Run) -> None:
    text = run("iam", "prod", "--json", "--account", "444455556666").out

    text = text.replace("log-group:gpushare-network-flow-logs-*:*", "")
    text = text.replace(
        "*:capacity-reservation/cr-0123456789abcdef0", ""
    )  # may be shared by another
    assert ":*:" not in text
    assert "111122223333" not in text


def test_an_account_is_twelve_digits(run: Run) -> None:
    ran = run("iam", "prod", "--account", "prod")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == ("eks-gpushare: prod is not an AWS account: give its number of 12 digits\n")


def test_in_govcloud_arns_are_of_its_partition(run: Run, time_slicing: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.gov.yaml"
    text = time_slicing.replace("aws:region: us-west-2", "aws:region: us-gov-west-1")
    text = text.replace("arn:aws:", "arn:aws-us-gov:")
    file.write_text(text.replace("us-west-2a, us-west-2b", "us-gov-west-1a, us-gov-west-1b"))

    ran = run("iam", str(file), "--program", str(Path(__file__).parents[2]), "--json")

    (statement,) = by_action(ran.json, "iam:CreateRole")
    assert all(arn.startswith("arn:aws-us-gov:iam::*:role/") for arn in statement["Resource"])


def test_the_policies_of_a_stack_can_be_written_in_parts(run: Run, tmp_path: Path) -> None:
    ran = run("iam", "prod", "--split", str(tmp_path / "out"))

    parts = [json.loads(file.read_text()) for file in sorted((tmp_path / "out").iterdir())]
    whole = json.loads(ran.out)["Statement"]
    assert ran.code == 0
    assert len(parts) > 1
    split = [statement for part in parts for statement in part["Statement"]]
    assert sorted(split, key=json.dumps) == sorted(whole, key=json.dumps)
    assert f"--split DIR writes {len(parts)} that a role can have at once." in ran.err


def test_a_folder_that_cannot_be_written_to_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    ran = run("iam", "prod", "--json", "--split", str(tmp_path / "file"))

    assert ran.code == 2
    assert f"eks-gpushare: {tmp_path / 'file'} cannot be written to: " in ran.err


def test_a_stack_with_errors_has_no_policy(run: Run, time_slicing: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.broken.yaml"
    file.write_text(time_slicing.replace("replicas:", "replica:"))

    ran = run("iam", str(file), "--program", str(Path(__file__).parents[2]), "--json")

    assert ran.code == 1
    assert {each["code"] for each in ran.json["findings"]} == {"GPU003"}
    assert ran.err.startswith("broken: the stack cannot be planned, so it has no policy\n")


def test_a_stack_that_is_not_there_is_wrong_usage(run: Run) -> None:
    assert run("iam", "nothing").code == 2


def test_what_is_not_known_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of the user's own may register what this release knows nothing of."""
    known = {of: each for of, each in ACTIONS.items() if of != "aws:kms/key:Key"}
    monkeypatch.setattr(iam, "ACTIONS", known)

    ran = run("iam", "time-slicing", "--json")

    assert ran.code == 1
    assert ran.err == (
        "eks-gpushare: what aws:kms/key:Key needs is not known: add its actions to the policy "
        "yourself\n"
    )
    assert by_action(ran.json, "kms:CreateKey") == []


def test_a_cluster_known_by_its_kubeconfig_needs_nothing(run: Run, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: "
        "{cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: https://a}}]\n"
        "users: [{name: a, user: {token: t}}]\n"
    )
    file = tmp_path / "Pulumi.theirs.yaml"
    file.write_text(
        "config:\n  eks-gpushare:environment:\n"
        f"    cluster: {{existing: {{kubeconfig: {kubeconfig}}}}}\n"
        "    pools:\n      gpu:\n        provisioner: existing\n"
        "        instanceTypes: [g6.xlarge]\n"
        "        sharing: {mode: timeSlicing, replicas: 4}\n"
    )

    ran = run("iam", str(file), "--program", str(Path(__file__).parents[2]))

    assert (ran.code, json.loads(ran.out)["Statement"]) == (0, [])
    assert "  the stack has nothing in AWS\n" in ran.err
