"""The facts that are said in more than one place, a module a subject, and their names.

A rule of one front alone says its fact itself (`findings.rule.Rule`). As soon as a second front
says the same, it stands here: one title, one reason, one source and one severity, and whoever
silences one of its names silences the others. Where a front has to differ in severity, `differs`
says why.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from eks_gpushare.facts.fact import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def every_fact() -> tuple[Fact, ...]:
    """All of the index, by subject."""
    modules = [
        import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Fact)
    )


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
