"""The facts that are said in more than one place, and their names: `data/index.json`, by subject.

A rule of one front alone says its fact itself (`findings.rule.Rule`). As soon as a second front
says the same, it stands there: one title, one reason, one source and one severity, and whoever
silences one of its names silences the others. Where a front has to differ in severity, `differs`
says why.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eks_gpushare.facts.fact import Differs, Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.findings.rule import Rule

_DATA = Path(__file__).parent / "data" / "index.json"


@cache
def every_fact() -> tuple[Fact, ...]:
    """All of the index, by subject."""
    data = json.loads(_DATA.read_text(encoding="utf-8"))
    facts = (fact for subject in data["facts"].values() for fact in subject)
    return tuple(_fact(fact, data["reasons"]) for fact in facts)


def _fact(given: Mapping[str, Any], reasons: Mapping[str, str]) -> Fact:
    differs = {
        name: Differs(other["severity"], reasons.get(other["because"], other["because"]))
        for name, other in given.get("differs", {}).items()
    }
    return Fact(**{**given, "names": tuple(given["names"]), "differs": differs})


@cache
def _by_name() -> Mapping[str, tuple[Fact, ...]]:
    found: dict[str, tuple[Fact, ...]] = {}
    for fact in every_fact():
        for name in fact.names:
            found[name] = (*found.get(name, ()), fact)
    return found


def facts_of(name: str) -> tuple[Fact, ...]:
    """The facts that a name says: of a code one at most, of a policy one or several."""
    return _by_name().get(name, ())


def fact_of(code: str) -> Fact:
    """The fact that a code says.

    Raises:
        ValueError: If it says none.
    """
    found = facts_of(code)
    if len(found) != 1:
        raise ValueError(f"{code} says no fact of the index")
    return found[0]


def rule_of(code: str, *, not_alone: str = "") -> Rule:
    """The kind of finding by which a front says a fact.

    Args:
        code: One of the fact's names.
        not_alone: Why a component that stands alone has no such finding. Default: it has.

    Raises:
        ValueError: If it says no fact.
    """
    return fact_of(code).rule(code, not_alone=not_alone)


def is_worth_refusing(name: str) -> bool:
    """Whether one of the facts that a name says is an error there."""
    return any(fact.severity_of(name) == "error" for fact in facts_of(name))


@cache
def names_of(name: str) -> frozenset[str]:
    """All names that mean what a name means, itself among them.

    A policy that says several facts means all of them; a code of one of these means the policy, and
    none of the others.
    """
    found = {name}
    for fact in facts_of(name):
        found.update(fact.names)
    return frozenset(found)
