"""Roles that may do too much, or that too many may take, in many spellings; right twins beside."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from gpushare_policies import POLICIES
from gpushare_policies.reading.permissions import statements
from gpushare_policies.reading.powers import beyond_nodes, owns_most
from gpushare_policies.rules.nodes.node_role_rights import too_much
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    LAUNCH_TEMPLATE,
    POLICY,
    PROFILE,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_POLICY,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pulumi_policy import PolicyResource

RULES = {rule.name: rule for rule in POLICIES}
ISSUER = "oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
PROVIDER = f"arn:aws:iam::111122223333:oidc-provider/{ISSUER}"
GITHUB = "token.actions.githubusercontent.com"
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
NO_IAM = {"Effect": "Deny", "Action": ["iam:*", "sts:*"], "Resource": "*"}
Made = tuple[str, str, dict[str, Any]]


def _text(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def _allow(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def _deny(resource: str) -> dict[str, Any]:
    return {"Effect": "Deny", "Action": "*", "Resource": resource}


def _role(trust: str, **more: Any) -> Made:
    props = {"name": "one", "arn": "arn:aws:iam::111122223333:role/one", "assumeRolePolicy": trust}
    return (ROLE, "one", {**props, **more})


def _trust(principal: Any, key: str = "Principal", **conditions: Any) -> str:
    told: dict[str, Any] = {"Effect": "Allow", key: principal, "Action": "sts:AssumeRole"}
    return _text({**told, **({"Condition": conditions} if conditions else {})})


def _federated(provider: str, **conditions: Any) -> str:
    told = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": conditions,
    }
    return _text(told)


_OF_EC2 = _trust({"Service": "ec2.amazonaws.com"})
_OF_PODS = _text(
    {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
)
_ENTRY: Made = (
    ACCESS_ENTRY,
    "entry",
    {"type": "EC2_LINUX", "principalArn": "arn:aws:iam::111122223333:role/one"},
)


def _nodes(*statements: dict[str, Any], **more: Any) -> list[Made]:
    return [_role(_OF_EC2, inlinePolicies=[{"policy": _text(*statements)}], **more), _ENTRY]


def _pods(*statements: dict[str, Any], **more: Any) -> list[Made]:
    inline: Made = (ROLE_POLICY, "inline", {"role": "one", "policy": _text(*statements)})
    return [_role(_OF_PODS, **more), inline]


def _bounded(by: str, *statements: dict[str, Any]) -> list[Made]:
    arn = "arn:aws:iam::111122223333:policy/bound"
    attached: Made = (ROLE_ATTACHMENT, "attached", {"role": "one", "policyArn": ADMIN})
    bound: Made = (POLICY, "bound", {"arn": arn, "policy": _text(*statements)})
    return [_role(_OF_PODS, permissionsBoundary=by or arn), attached, *([] if by else [bound])]


def _launched(user_data: str, key: str = "userData") -> list[Made]:
    profile: Made = (PROFILE, "profile", {"name": "of-nodes", "role": "one"})
    template = {"iamInstanceProfile": {"name": "of-nodes"}, key: user_data}
    role = _role(_OF_EC2, managedPolicyArns=[ADMIN])
    return [role, profile, (LAUNCH_TEMPLATE, "template", template)]


_JOINS = base64.b64encode(b"#!/bin/bash\n/etc/eks/bootstrap.sh one\n").decode()
_PLAIN = base64.b64encode(b"#!/bin/bash\nyum install -y nginx\n").decode()
_PASSES = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}

CASES: dict[str, tuple[str, list[Made], list[Made]]] = {
    "all but a service": (
        "node-role-rights",
        _nodes({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
        _nodes({"Effect": "Allow", "NotAction": "*", "Resource": "*"}),
    ),
    "all but a resource": (
        "node-role-rights",
        _nodes({"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::kept"}),
        _nodes({"Effect": "Allow", "Action": "*", "NotResource": "*"}),
    ),
    "an ARN of all": (
        "node-role-rights",
        _nodes(_allow("*", "arn:aws:*:*:*:*")),
        _nodes(_allow("*", "arn:aws:s3:::models/*")),
    ),
    "a part of the world": (
        "node-role-rights",
        _nodes(_allow("kms:Decrypt", "arn:aws:kms:eu-*:*:key/*")),
        _nodes(_allow("kms:Decrypt", "arn:aws:kms:eu-*:*:key/one")),
    ),
    "a part of the world that is not denied": (
        "node-role-rights",
        _nodes(_allow("kms:Decrypt", "arn:aws:kms:*:*:key/*"), _deny("arn:aws:kms:us-east-1:*")),
        _nodes(_allow("kms:Decrypt", "arn:aws:kms:*:*:key/*"), _deny("arn:aws:kms:*")),
    ),
    "every service by its name": (
        "node-role-rights",
        _nodes(_allow(["s3:*", "iam:*", "ec2:*"])),
        _nodes(_allow(["s3:Get*", "s3:List*", "ec2:Describe*"])),
    ),
    "letters that IAM does not mind": (
        "node-role-rights",
        _nodes(_allow("IAM:attachrolePOLICY")),
        _nodes(_allow("IAM:listroles")),
    ),
    "a pattern within an action": (
        "node-role-rights",
        _nodes(_allow("iam:P??RolePolicy")),
        _nodes(_allow("iam:G??RolePolicy")),
    ),
    "PassRole on whatever there is": (
        "node-role-rights",
        _nodes(_allow("iam:PassRole")),
        _nodes(_allow("iam:PassRole", Condition=_PASSES)),
    ),
    "roles to take": (
        "node-role-rights",
        _nodes(_allow("sts:AssumeRole", "arn:aws:iam::111122223333:role/*")),
        _nodes(_allow("sts:AssumeRole", "arn:aws:iam::111122223333:role/logs")),
    ),
    "a condition that the caller chooses": (
        "node-role-rights",
        _nodes(_allow("*", Condition={"StringEquals": {"aws:RequestedRegion": "eu-west-1"}})),
        _nodes(_allow("*", Condition={"StringEquals": {"aws:ResourceTag/of": "nodes"}})),
    ),
    "a condition that is always met": (
        "node-role-rights",
        _nodes(_allow("*", Condition={"Bool": {"aws:SecureTransport": "true"}})),
        _nodes(_allow("*", Condition={"ArnEquals": {"ec2:SourceInstanceARN": "arn:one"}})),
    ),
    "nodes known by their instance profile": (
        "node-role-rights",
        _launched(_JOINS),
        _launched(_PLAIN),
    ),
    "what is denied": (
        "node-role-rights",
        _nodes(_allow("iam:*"), {"Effect": "Deny", "Action": "iam:List*", "Resource": "*"}),
        _nodes(_allow("iam:*"), NO_IAM),
    ),
    "an administrator by way of a policy": (
        "roles-bounded",
        _pods(_allow("iam:CreatePolicyVersion")),
        _pods(_allow("iam:CreatePolicyVersion", "arn:aws:iam::111122223333:policy/one")),
    ),
    "users to make": (
        "roles-bounded",
        _pods(_allow(["iam:CreateUser", "iam:CreateAccessKey"])),
        _pods(_allow("iam:CreateAccessKey", "arn:aws:iam::*:user/${aws:username}")),
    ),
    "all by the negative": (
        "roles-bounded",
        _pods({"Effect": "Allow", "NotAction": ["iam:*", "organizations:*"], "Resource": "*"}),
        _pods({"Effect": "Deny", "NotAction": ["iam:*"], "Resource": "*"}),
    ),
    "all of an account": (
        "roles-bounded",
        _pods(_allow("*", ["arn:aws:*:*:111122223333:*", "arn:aws:s3:::*"])),
        _pods(_allow("*", "arn:aws:sqs:*:111122223333:jobs")),
    ),
    "a boundary that bounds nothing": (
        "roles-bounded",
        _bounded(ADMIN, EVERYTHING),
        _bounded("", _allow(["s3:*", "sqs:*"])),
    ),
    "a boundary that lets IAM through": (
        "roles-bounded",
        _bounded("", EVERYTHING),
        _bounded("", EVERYTHING, NO_IAM),
    ),
    "all but some take it": (
        "roles-bounded",
        [_role(_trust({"AWS": "arn:aws:iam::111122223333:root"}, "NotPrincipal"))],
        [_role(_trust({"AWS": "arn:aws:iam::111122223333:root"}))],
    ),
    "a condition that strangers meet": (
        "roles-bounded",
        [_role(_trust("*", StringNotEquals={"aws:PrincipalAccount": "111122223333"}))],
        [_role(_trust("*", StringEquals={"aws:PrincipalAccount": "111122223333"}))],
    ),
    "any name of an organisation": (
        "roles-bounded",
        [_role(_trust({"AWS": "*"}, StringLike={"aws:PrincipalOrgID": "o-*"}))],
        [_role(_trust({"AWS": "*"}, StringLike={"aws:PrincipalOrgID": "o-0123456789"}))],
    ),
    "an external ID, which is no secret": (
        "roles-bounded",
        [_role(_trust("*", StringEquals={"sts:ExternalId": "ours"}))],
        [_role(_trust({"AWS": "111122223333"}, StringEquals={"sts:ExternalId": "ours"}))],
    ),
    "addresses of everybody": (
        "roles-bounded",
        [_role(_trust("*", IpAddress={"aws:SourceIp": ["10.0.0.0/8", "0.0.0.0/0"]}))],
        [_role(_trust("*", IpAddress={"aws:SourceIp": "198.51.100.0/24"}))],
    ),
    "a key that need not be there": (
        "roles-bounded",
        [_role(_trust("*", StringEqualsIfExists={"aws:SourceVpc": "vpc-1"}))],
        [_role(_trust("*", StringEquals={"aws:SourceVpc": "vpc-1"}))],
    ),
    "subjects by what they are not": (
        "roles-bounded",
        [_role(_federated(PROVIDER, StringNotEquals={f"{ISSUER}:sub": "system:anonymous"}))],
        [_role(_federated(PROVIDER, StringEquals={f"{ISSUER}:sub": "system:serviceaccount:a:b"}))],
    ),
    "subjects of any value": (
        "roles-bounded",
        [_role(_federated(PROVIDER, **{"ForAnyValue:StringLike": {f"{ISSUER}:sub": "system:*"}}))],
        [_role(_federated(PROVIDER, **{"ForAnyValue:StringLike": {f"{ISSUER}:sub": "*:ml:*"}}))],
    ),
    "subjects of one letter each": (
        "roles-bounded",
        [_role(_federated(PROVIDER, StringLike={f"{ISSUER}:sub": "system:serviceaccount:?*:?*"}))],
        [_role(_federated(PROVIDER, StringLike={f"{ISSUER}:sub": "system:serviceaccount:m?:*"}))],
    ),
    "every repository": (
        "roles-bounded",
        [_role(_federated(f"arn:aws:iam::1:oidc-provider/{GITHUB}"))],
        [
            _role(
                _federated(
                    f"arn:aws:iam::1:oidc-provider/{GITHUB}",
                    StringLike={f"{GITHUB}:sub": "repo:ours/*"},
                )
            )
        ],
    ),
}


@pytest.fixture
def said(
    resource: Callable[..., PolicyResource],
    stack_violations: Callable[..., list[tuple[str, str]]],
) -> Callable[[str, list[Made]], list[str]]:
    """`said(rule, made)` are the messages of a rule."""
    return lambda rule, made: [
        text for _, text in stack_violations(RULES[rule], [resource(*one) for one in made])
    ]


@pytest.mark.parametrize("case", CASES)
def test_what_a_role_may_is_told_by_its_meaning(
    said: Callable[[str, list[Made]], list[str]], case: str
) -> None:
    rule, wrong, right = CASES[case]

    assert len(said(rule, wrong)) == 1
    assert said(rule, right) == []


SERVICES = (
    *("s3", "route53", "ec2", "dynamodb", "rds", "lambda", "kms", "secretsmanager", "sqs", "sns"),
    *("cloudformation", "eks", "ecr", "logs", "elasticfilesystem", "ssm"),
)


@pytest.mark.parametrize(("count", "most"), [(11, False), (12, True)])
def test_three_quarters_of_the_services_are_most_of_them(count: int, most: bool) -> None:
    document = json.loads(_text(_allow([f"{service}:*" for service in SERVICES[:count]])))

    assert owns_most(statements(document) or ()) is most


NEEDED = (
    *("AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy", "AmazonEKS_CNI_Policy"),
    *("AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly"),
    *("AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy"),
)
"""What AWS's pages have nodes take, or their agents."""


@pytest.mark.at_length
def test_policies_of_aws_are_too_much_by_what_they_allow() -> None:
    """All that AWS publishes and roles may be given, as moto packages them."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    found = json.loads(aws_managed_policies_data)
    paths = {name: f"{policy['Path']}{name}" for name, policy in found.items()}
    beyond = {
        name
        for name, policy in found.items()
        if "/aws-service-role/" not in paths[name]
        and beyond_nodes(statements(policy["Document"]) or ())
    }

    assert len(found) > 1_000
    assert {n for n in beyond if not too_much(f"arn:aws:iam::aws:policy{paths[n]}")} == set()
    assert not beyond & set(NEEDED)
    assert not any(too_much(f"arn:aws:iam::aws:policy/{name}") for name in NEEDED)
