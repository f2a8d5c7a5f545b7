"""All rules of the pack, in the order of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.findings.pages import policy_page
from gpushare_policies.rules import (
    autoscaling,
    cluster,
    cost,
    mig,
    network,
    nodes,
    sharing,
    supply_chain,
    tenancy,
    workloads,
)
from gpushare_policies.rules.in_force import EXEMPTIONS_IN_FORCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpushare_policies.rule import AnyRule

_THEMES = (
    cluster,
    nodes,
    network,
    sharing,
    mig,
    autoscaling,
    workloads,
    tenancy,
    cost,
    supply_chain,
)

THEMES: Mapping[str, tuple[AnyRule, ...]] = {
    **{theme.__name__.rpartition(".")[2]: theme.RULES for theme in _THEMES},
    "configuration": (EXEMPTIONS_IN_FORCE,),
}
"""The rules by theme."""

for _theme, _rules in THEMES.items():
    for _rule in _rules:
        _rule.url = policy_page(_theme, _rule.name)

POLICIES: tuple[AnyRule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
"""All rules. The one that tells of exemptions comes last, when all others have run."""
