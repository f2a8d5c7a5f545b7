"""Attempts to go past policies, and right programs, by one who had read the descriptions alone.

The author knew no line of the pack, of its tests or of its documentation. Each line of
`attempts.jsonl` breaks the words of one rule, each of `right_programs.jsonl` those of none.
`attempts_left.yaml` has what is not said, and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.conftest import sampled
from tests.policies.registered import violations_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.sdk_internals

HERE = Path(__file__).parent
LEFT: dict[str, Any] = yaml.safe_load((HERE / "attempts_left.yaml").read_text(encoding="utf-8"))
REASONS = set(LEFT["reasons"])
NOT_SAID = {
    (rule, name): why for rule, names in LEFT["not said"].items() for name, why in names.items()
}


def cases(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / file).read_text(encoding="utf-8").splitlines()]


def registered(given: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    types: list[str] = []
    for each in given["resources"]:
        above = f"{types[int(each['parent'])]}$" if each.get("parent") is not None else ""
        types.append(f"{above}{each['t']}")
        yield types[-1], each["name"], each["props"]


def said(given: dict[str, Any]) -> set[str]:
    found = violations_of(given.get("stack", "dev"), registered(given))
    return {violation.policy for violation in found}


EVERY = 4
"""Of so many attempts at a rule, and of so many programs, a change is tried with one."""


def attempts() -> list[Any]:
    """Those of each rule on their own, so that the first of each is always tried."""
    of_rules: dict[str, list[Any]] = {}
    for each in cases("attempts.jsonl"):
        case = pytest.param(each, id=f"{each['rule']}: {each['name']}")
        of_rules.setdefault(each["rule"], []).append(case)
    return [case for of_rule in of_rules.values() for case in sampled(of_rule, EVERY)]


@pytest.mark.parametrize("given", attempts())
def test_an_attempt_is_said_by_its_rule_or_has_a_reason(given: dict[str, Any]) -> None:
    why = NOT_SAID.get((given["rule"], given["name"]))

    assert (given["rule"] in said(given)) is (why is None)
    assert why is None or why in REASONS


def test_what_is_left_is_of_attempts_that_there_are() -> None:
    assert NOT_SAID.keys() <= {(each["rule"], each["name"]) for each in cases("attempts.jsonl")}


@pytest.mark.parametrize(
    "given",
    sampled([pytest.param(each, id=each["name"]) for each in cases("right_programs.jsonl")], EVERY),
)
def test_of_a_right_program_nothing_is_said(given: dict[str, Any]) -> None:
    assert said(given) == set(LEFT["alarms"].get(given["name"], ()))
