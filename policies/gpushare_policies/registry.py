"""All rules of the pack, in the order of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

POLICIES: tuple[AnyRule, ...] = (
    *(each for theme in _THEMES for each in theme.RULES),
    EXEMPTIONS_IN_FORCE,
)
"""All rules."""
