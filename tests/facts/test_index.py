"""The index of facts: what several fronts say has one title, one reason and one severity."""

from __future__ import annotations

import difflib
import re
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from pulumi_policy import EnforcementLevel

from eks_gpushare.facts.fact import Fact, Front, front_of
from eks_gpushare.facts.index import every_fact, facts_of, is_worth_refusing, names_of
from eks_gpushare.findings.rule import rules_in
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.live import rules as live
from eks_gpushare.rules import all_rules
from eks_gpushare_lab import rules as lab
from gpushare_policies import POLICIES

if TYPE_CHECKING:
    from eks_gpushare.findings.rule import Rule

pytestmark = pytest.mark.sdk_internals

SAID = {
    Front.STACK: {rule.id: rule for rule in all_rules()},
    Front.FILES: {rule.id: rule for rule in lint_rules()},
    Front.LAB: {rule.id: rule for rule in rules_in(lab)},
    Front.LIVE: {rule.id: rule for rule in rules_in(live)},
}
LEVELS = {rule.name: rule.enforcement_level for rule in POLICIES}
LEAST = 0.75
"""How alike titles are that may say the same."""
APART = {
    "GPU101 GPU1069": "unknown to the catalog, or retired by AWS",
    "GPU1006 GPU304": "what tolerates, or what is tolerated",
    "GPU1021 GPU914": "the plugin stops at it, or nothing reads it",
    "GPU1056 GPU830": "of nodes, or of containers",
    "GPU1150 GPU923": "of quotas, or of pods",
    "GPU1310 GPU945": "what nodes need, or what somebody applies",
    "GPU1350 GPU841": "for pods, or for warm room",
    "GPU1351 GPU964": "it sees no pool, or takes nodes that are not there for room",
    "GPU1202 GPU836": "on none of the types, or not on all of them",
    "GPU841 GPU967": "for warm room, or for pods",
}
"""Codes of titles that are alike, with what tells them apart."""


def named(fact: Fact) -> list[tuple[Front, str]]:
    return [(front_of(name), name) for name in fact.names]


def test_a_fact_is_said_by_several_in_one_way() -> None:
    for fact in every_fact():
        assert len(named(fact)) > 1, fact.title
        for front, name in named(fact):
            if front is Front.POLICY:
                assert name in LEVELS
                continue
            rule = SAID[front][name]
            assert (rule.title, rule.why, rule.source) == (fact.title, fact.why, fact.source)
            assert rule.severity == fact.severity_of(name), name


def test_another_severity_has_a_reason() -> None:
    for fact in every_fact():
        names = {name for _, name in named(fact)}
        for name, differing in fact.differs.items():
            assert name in names
            assert differing.severity != fact.severity, f"{name} does not differ"
            assert re.fullmatch(r"[A-Z].{15,}\.", differing.because), name


def test_the_level_of_a_policy_is_what_its_facts_are_worth() -> None:
    for name, level in LEVELS.items():
        if not facts_of(name):
            continue
        worth = {fact.severity_of(name) for fact in facts_of(name)}
        mandatory = level is EnforcementLevel.MANDATORY
        assert is_worth_refusing(name) is mandatory
        assert mandatory is ("error" in worth), f"{name} is {level}, and its facts {worth}"


def test_a_code_says_one_fact() -> None:
    for front, rules in SAID.items():
        for code in rules:
            found = [fact for fact in facts_of(code) if code in fact.names_of(front)]
            assert len(found) == len(facts_of(code)) <= 1, code


def test_the_index_finds_the_facts_of_its_modules_and_nothing_else() -> None:
    """Asked anew, and not of what was found when these tests were collected."""
    found = every_fact.__wrapped__()

    assert found == every_fact()
    assert all(isinstance(each, Fact) for each in found)


def test_names_mean_each_other() -> None:
    for fact in every_fact():
        for _, name in named(fact):
            assert {each for _, each in named(fact)} <= names_of(name)


def _are_alike(one: Rule, other: Rule, titles: difflib.SequenceMatcher[str]) -> bool:
    """Whether two rules read alike; `titles` has the title of `other`, which takes it a while."""
    if one.why == other.why:
        return True
    titles.set_seq1(one.title)
    quick = titles.real_quick_ratio() >= LEAST and titles.quick_ratio() >= LEAST
    return quick and titles.ratio() >= LEAST


def _twins() -> set[frozenset[str]]:
    """Rules of two fronts that read as one fact and are not names of one."""
    found: set[frozenset[str]] = set()
    titles = difflib.SequenceMatcher()
    for (_, first), (_, second) in combinations(SAID.items(), 2):
        for other in second.values():
            titles.set_seq2(other.title)
            for one in first.values():
                if other.id not in names_of(one.id) and _are_alike(one, other, titles):
                    found.add(frozenset((one.id, other.id)))
    return found


def test_who_says_what_another_says_names_the_fact() -> None:
    found = {" ".join(sorted(codes)) for codes in _twins()}

    assert found == {*APART}, "put the fact into eks_gpushare/facts/index, or the pair into APART"


@pytest.mark.parametrize(
    ("name", "front"),
    [
        ("GPU899", Front.STACK),
        ("GPU900", Front.LAB),
        ("GPU999", Front.LAB),
        ("GPU1000", Front.FILES),
        ("images-pinned", Front.POLICY),
    ],
)
def test_a_name_tells_who_says_it(name: str, front: Front) -> None:
    assert front_of(name) is front
