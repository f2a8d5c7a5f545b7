"""What is concluded from what AWS says: principals, kubeconfigs, private subnets."""

from __future__ import annotations

import json

import pytest

from eks_gpushare.aws.policy_documents import same_principal
from eks_gpushare.documents.kubeconfig import eks_kubeconfig, with_profile
from eks_gpushare.sharing.subnets import RoutesOf, private_subnets

ACCOUNT = "111122223333"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/Platform/ci"


@pytest.mark.parametrize(
    ("caller", "principal"),
    [
        (SESSION, f"arn:aws:iam::{ACCOUNT}:role/Platform"),
        (SESSION, f"arn:aws:iam::{ACCOUNT}:role/team/of/Platform"),
        (
            f"arn:aws:sts::{ACCOUNT}:assumed-role/AWSReservedSSO_Admin_0a/me@example.com",
            f"arn:aws:iam::{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Admin_0a",
        ),
        (f"arn:aws:iam::{ACCOUNT}:user/a/Me", f"arn:aws:iam::{ACCOUNT}:user/a/Me"),
    ],
)
def test_a_caller_is_the_principal_it_acts_as(caller: str, principal: str) -> None:
    assert same_principal(caller, principal)


@pytest.mark.parametrize(
    ("caller", "principal"),
    [
        (SESSION, f"arn:aws:iam::{ACCOUNT}:role/Platforms"),
        (SESSION, f"arn:aws:iam::{ACCOUNT}:role/Platform/Other"),
        (SESSION, f"arn:aws:iam::{ACCOUNT}:user/Platform"),
        (SESSION, "arn:aws:iam::444455556666:role/Platform"),
        (f"arn:aws:iam::{ACCOUNT}:root", f"arn:aws:iam::{ACCOUNT}:role/root"),
        (f"arn:aws:sts::{ACCOUNT}:federated-user/Me", f"arn:aws:iam::{ACCOUNT}:user/Me"),
        ("", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_a_caller_is_nobody_else(caller: str, principal: str) -> None:
    assert not same_principal(caller, principal)


def test_a_profile_is_added_to_what_gets_the_token() -> None:
    """As `eks.Cluster` writes a kubeconfig, and as this project does."""
    environment = [{"name": "KUBERNETES_EXEC_INFO", "value": "{}"}]
    login = {"command": "aws", "args": ["eks", "get-token"], "env": environment}
    theirs = json.dumps({"users": [{"name": "aws", "user": {"exec": login}}]})
    ours = eks_kubeconfig("demo", "https://x", "Q0E=", "us-west-2", None)
    profile = {"name": "AWS_PROFILE", "value": "team"}

    assert json.loads(with_profile(theirs, "team")) == {
        "users": [{"name": "aws", "user": {"exec": {**login, "env": [*environment, profile]}}}]
    }
    assert with_profile(ours, "team") == eks_kubeconfig(
        "demo", "https://x", "Q0E=", "us-west-2", "team"
    )
    assert with_profile(with_profile(ours, "other"), "team") == with_profile(ours, "team")


def test_subnets_are_private_by_their_route_tables() -> None:
    public = RoutesOf(main=False, subnets=("subnet-1", "subnet-2"), internet=True)
    private = RoutesOf(main=False, subnets=("subnet-3",), internet=False)
    nat = RoutesOf(main=True, subnets=(), internet=False)

    found = private_subnets(["subnet-1", "subnet-3", "subnet-4"], [public, private, nat])

    assert found == ["subnet-3", "subnet-4"]


def test_a_subnet_without_a_table_of_its_own_has_the_main_one() -> None:
    """The default VPC: its main table leads to the internet."""
    main = RoutesOf(main=True, subnets=(), internet=True)
    own = RoutesOf(main=False, subnets=("subnet-2",), internet=False)

    assert private_subnets(["subnet-1", "subnet-2"], [main, own]) == ["subnet-2"]
