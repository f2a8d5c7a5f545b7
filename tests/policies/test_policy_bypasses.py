"""Ways around the words of rules: each is seen, and what is right beside it is let be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from tests.conftest import sampled
from tests.policies.registered import violations_of

if TYPE_CHECKING:
    from eks_gpushare.program.policies.violations import Violation

pytestmark = pytest.mark.sdk_internals

FILES = (
    "bypasses.yaml",
    "bypasses_by_words.yaml",
    "bypasses_independent.yaml",
    "bypasses_by_readers.yaml",
    "bypasses_by_sentences.yaml",
    "bypasses_unread.yaml",
    "bypasses_public.yaml",
    "bypasses_in_other_places.yaml",
    "bypasses_by_definition.yaml",
    "bypasses_as_engineers_write.yaml",
    "bypasses_by_defaults.yaml",
)
CASES = [
    cast(
        "dict[str, dict[str, dict[str, Any]]]",
        yaml.load(Path(__file__).with_name(file).read_bytes(), yaml.CSafeLoader),
    )
    for file in FILES
]


def _registration(given: dict[str, Any], name: str) -> tuple[str, str, dict[str, Any]]:
    token = given.get("t") or f"kubernetes:{given['k']}"
    props = given.get("props")
    if props is None:
        props = {"metadata": {"name": "x", "namespace": "team"}, "spec": given["spec"]}
    return f"{given['below']}${token}" if "below" in given else token, name, props


def _found(given: dict[str, Any]) -> list[Violation]:
    """What policies say of a stack of these."""
    resources = (*given.get("also", ()), given)
    registrations = (_registration(one, str(number)) for number, one in enumerate(resources))
    return violations_of(given.get("stack", "dev"), registrations)


def _said(given: dict[str, Any]) -> list[tuple[str, str]]:
    """Policies with the levels at which they say something of it."""
    return [(each.policy, each.level) for each in _found(given)]


def _named(side: str) -> list[list[Any]]:
    """Cases by rule, those of each author on their own."""
    return [
        [
            pytest.param(rule, given, id=f"{rule}: {name}")
            for name, given in sides.get(side, {}).items()
        ]
        for cases in CASES
        for rule, sides in cases.items()
    ]


EVERY = 4
"""Of so many cases that an author has of a rule a change is tried with one, and with the first."""


def _often(side: str) -> list[Any]:
    return [case for cases in _named(side) for case in sampled(cases, EVERY)]


@pytest.mark.parametrize(("rule", "given"), _often("wrong"))
def test_a_way_around_a_rule_is_seen(rule: str, given: dict[str, Any]) -> None:
    assert rule in {policy for policy, _ in _said(given)}


@pytest.mark.parametrize(
    ("name", "makes"),
    [
        ("cloud control", "0 makes AWS::EKS::Nodegroup by Cloud Control,"),
        ("template elsewhere", "0 may make clusters and nodes by the template of a"),
    ],
)
def test_what_is_made_out_of_sight_is_named_where_it_is_known(name: str, makes: str) -> None:
    rule = "clusters-made-in-sight"
    found = _found(CASES[0][rule]["wrong"][name])

    (message,) = (each.message for each in found if each.policy == rule)
    assert message.startswith(makes)


@pytest.mark.parametrize(("rule", "given"), _often("right"))
def test_what_is_right_beside_it_is_let_be(rule: str, given: dict[str, Any]) -> None:
    assert rule not in {policy for policy, _ in _said(given)}


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, _named("wrong"))) >= 100
    assert sum(map(len, _named("right"))) >= 40
