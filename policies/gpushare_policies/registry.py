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

POLICIES: tuple[AnyRule, ...] = tuple(each for theme in _THEMES for each in theme.RULES)
"""All rules."""
