"""All rules of the pack, in the order of the documentation."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from eks_gpushare.findings.pages import policy_page
from gpushare_policies import rules
from gpushare_policies.rule import AnyRule
from gpushare_policies.rules.in_force import EXEMPTIONS_IN_FORCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_THEMES = (
    "cluster",
    "nodes",
    "network",
    "sharing",
    "mig",
    "autoscaling",
    "workloads",
    "tenancy",
    "cost",
    "supply_chain",
)
"""Folders of rules, in the order of the documentation."""


def _rules_of(theme: str) -> Iterator[AnyRule]:
    """What the modules of a theme define, a rule or a tuple of them, by module."""
    package = import_module(f"{rules.__name__}.{theme}")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for given in vars(import_module(module.name)).values():
            for value in given if isinstance(given, tuple) else (given,):
                if isinstance(value, AnyRule):
                    yield value


THEMES: Mapping[str, tuple[AnyRule, ...]] = {
    **{theme: tuple(_rules_of(theme)) for theme in _THEMES},
    "configuration": (EXEMPTIONS_IN_FORCE,),
}
"""The rules by theme."""

for _theme, _rules in THEMES.items():
    for _rule in _rules:
        _rule.url = policy_page(_theme, _rule.name)

POLICIES: tuple[AnyRule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
"""All rules. The one that tells of exemptions comes last, when all others have run."""
