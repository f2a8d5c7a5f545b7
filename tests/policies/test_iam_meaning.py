"""What policies of IAM allow, held against an evaluator of somebody else's: NCC Group's PMapper.

https://github.com/nccgroup/PMapper was held by its authors against AWS's own policy simulator. Its
evaluator is one module, read from the wheel.
"""

from __future__ import annotations

import collections
import collections.abc
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from aws_oracle.cloudformation import wheel
from hypothesis import given, settings
from hypothesis import strategies as st

from gpushare_policies.reading.permissions import ActionRequest, may, statements

if TYPE_CHECKING:
    from collections.abc import Callable

PMAPPER = "principalmapper-1.1.5-py3-none-any.whl"


@cache
def _evaluator() -> tuple[Callable[..., bool], Callable[..., Any]]:
    """`policy_has_matching_statement`, and its kind of context."""
    sys.path.insert(0, str(wheel(PMAPPER)))
    # What Python 3.10 took from there, PMapper asks for.
    moved = {name: getattr(collections.abc, name) for name in ("Mapping", "MutableMapping")}
    vars(collections).update(moved)
    try:
        simulation = import_module("principalmapper.querying.local_policy_simulation")
        contexts = import_module("principalmapper.util.case_insensitive_dict")
    finally:
        sys.path.remove(str(wheel(PMAPPER)))
        for name in moved:
            delattr(collections, name)
    return simulation.policy_has_matching_statement, contexts.CaseInsensitiveDict


ACTIONS = ("iam:PassRole", "iam:passrole", "s3:GetObject", "ec2:RunInstances")
PATTERNS = (*ACTIONS, "*", "iam:*", "iam:Pass*", "*:*", "s3:Get?bject", "ec2:Run*s", "IAM:*role")
RESOURCES = ("arn:aws:iam::111122223333:role/a", "arn:aws:s3:::b/k", "arn:aws:s3:::c/k")
PLACES = (*RESOURCES, "*", "arn:aws:s3:::*", "arn:aws:*:*:*:*", "arn:aws:iam::*:role/?", "arn:*")
KEYS = ("aws:PrincipalTag/team", "iam:PassedToService", "aws:SourceIp", "AWS:principalarn")
VALUES = {
    "aws:PrincipalTag/team": ("ml", "ML", "web"),
    "iam:PassedToService": ("ec2.amazonaws.com", "eks.amazonaws.com"),
    "aws:SourceIp": ("203.0.113.7", "198.51.100.9"),
    "AWS:principalarn": ("arn:aws:iam::111122223333:role/a", "arn:aws:iam::444455556666:role/b"),
}
WANTED = {
    "aws:PrincipalTag/team": ("ml", "m?", "*", "web"),
    "iam:PassedToService": ("ec2.amazonaws.com", "*.amazonaws.com", "e?s.*"),
    "aws:SourceIp": ("203.0.113.0/24", "0.0.0.0/0", "10.0.0.0/8"),
    "AWS:principalarn": ("arn:aws:iam::111122223333:role/*", "arn:aws:iam::*:role/b"),
}
OPERATORS = {
    "aws:PrincipalTag/team": (
        *("StringEquals", "StringNotEquals", "StringLike", "StringLikeIfExists"),
        *("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase", "StringEqualsIfExists", "Null"),
    ),
    "iam:PassedToService": ("StringEquals", "StringLike", "StringEqualsIfExists", "Null"),
    "aws:SourceIp": ("IpAddress", "NotIpAddress"),
    "AWS:principalarn": ("ArnLike", "ArnEquals", "ArnNotLike", "ArnLikeIfExists"),
}


def _some(values: tuple[str, ...]) -> st.SearchStrategy[Any]:
    several = st.lists(st.sampled_from(values), min_size=1, max_size=3)
    return st.sampled_from(values) | several


@st.composite
def _conditions(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=2)):
        operator = draw(st.sampled_from(OPERATORS[key]))
        wanted = st.sampled_from(("true", "false")) if operator == "Null" else _some(WANTED[key])
        found.setdefault(operator, {})[key] = draw(wanted)
    return found


@st.composite
def _statement(draw: st.DrawFn) -> dict[str, Any]:
    conditions = draw(_conditions())
    return {
        "Effect": draw(st.sampled_from(("Allow", "Allow", "Deny"))),
        draw(st.sampled_from(("Action", "Action", "NotAction"))): draw(_some(PATTERNS)),
        draw(st.sampled_from(("Resource", "Resource", "NotResource"))): draw(_some(PLACES)),
        **({"Condition": conditions} if conditions else {}),
    }


@settings(max_examples=150, deadline=None)
@given(
    given_=st.lists(_statement(), min_size=1, max_size=3),
    bound=st.none() | st.lists(_statement(), min_size=1, max_size=2),
    action=st.sampled_from(ACTIONS),
    resource=st.sampled_from(RESOURCES),
    context=st.fixed_dictionaries({}, optional={k: st.sampled_from(VALUES[k]) for k in KEYS}),
)
def test_a_request_is_allowed_as_another_evaluator_finds(
    given_: list[dict[str, Any]],
    bound: list[dict[str, Any]] | None,
    action: str,
    resource: str,
    context: dict[str, str],
) -> None:
    has, of_any_case = _evaluator()

    def theirs(told: list[dict[str, Any]]) -> bool:
        allow, deny = (
            has({"Statement": told}, effect, action, resource, of_any_case(context))
            for effect in ("Allow", "Deny")
        )
        return allow and not deny

    request = ActionRequest(
        action, resource, {key.lower(): (value,) for key, value in context.items()}
    )
    ours = may(
        request,
        statements({"Statement": given_}) or (),
        None if bound is None else statements({"Statement": bound}),
    )

    assert ours is (theirs(given_) and (bound is None or theirs(bound)))


def test_a_condition_that_is_denied_holds_without_its_key() -> None:
    """PMapper says otherwise of this one; AWS's page on condition operators names it."""
    document = {
        "Effect": "Allow",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringNotLike": {"aws:PrincipalTag/team": "ml"}},
    }
    given_ = statements({"Statement": document}) or ()

    assert may(ActionRequest("s3:GetObject", "*"), given_)
    assert not may(ActionRequest("s3:GetObject", "*", {"aws:principaltag/team": ("ml",)}), given_)


BOTH, ONE, OTHER, NONE = ("ml", "ops"), ("ml",), ("ops",), None
SETS = {
    "StringEquals": [BOTH, ONE],
    "StringNotEquals": [OTHER, NONE],
    "ForAnyValue:StringEquals": [BOTH, ONE],
    "ForAnyValue:StringNotEquals": [BOTH, OTHER],
    "ForAnyValue:StringEqualsIfExists": [BOTH, ONE, NONE],
    "ForAllValues:StringEquals": [ONE, NONE],
    "ForAllValues:StringNotEquals": [OTHER, NONE],
}


@pytest.mark.parametrize("operator", SETS)
def test_a_condition_on_several_values_of_a_request(operator: str) -> None:
    """By AWS's page on single-valued and multivalued context keys."""
    met = [
        values
        for values in (BOTH, ONE, OTHER, NONE)
        if _is_met(operator, "ml", *([] if values is None else values))
    ]

    assert met == SETS[operator]


def _is_met(operator: str, wanted: Any, *values: str) -> bool:
    told = {"Effect": "Allow", "Condition": {operator: {"aws:TagKeys": wanted}}}
    (statement,) = statements({"Statement": told}) or ()
    return statement.holds({"aws:tagkeys": values} if values else {})


@pytest.mark.parametrize(
    ("operator", "wanted", "met", "not_met"),
    [
        ("Bool", True, ["true"], ["false"]),
        ("Bool", "False", ["false"], ["true"]),
        ("Null", True, [], ["ml"]),
        ("Null", "false", ["ml"], []),
        ("StringEqualsIgnoreCase", "ML", ["ml"], ["ops"]),
        ("IpAddress", ["office", "203.0.113.7/24"], ["203.0.113.9"], ["198.51.100.9"]),
        ("IpAddress", "203.0.113.0/24", ["203.0.113.9"], ["unknown"]),
        ("StringLike", "a${*}${?}c", ["a*?c"], ["abbc"]),
        ("StringLike", "${$}{a}*", ["${a}b"], ["a"]),
        ("StringLike", "home/${aws:username}", [], ["home/${aws:username}"]),
    ],
)
def test_a_condition_is_met_by_what_it_is_for(
    operator: str, wanted: Any, met: list[str], not_met: list[str]
) -> None:
    assert _is_met(operator, wanted, *met) is bool(met or operator == "Null")
    assert not _is_met(operator, wanted, *not_met)


@pytest.mark.parametrize(
    "document",
    [
        *("{", "[]", '{"Statement": [1]}', '{"Statement": {"Effect": "Maybe"}}', None, 3),
        '{"Statement": {"Effect": "Allow", "Action": "*", "Condition": ["aws:SourceVpc"]}}',
        '{"Statement": {"Effect": "Allow", "Action": "*", "Condition": {"StringLike": "a"}}}',
    ],
)
def test_what_is_no_policy_has_no_statements(document: Any) -> None:
    assert not statements(document)
