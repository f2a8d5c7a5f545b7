"""All rules of the pack, in the order of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.charts import CHART_RULES
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
from gpushare_policies.scheduling import SCHEDULING_RULES
from gpushare_policies.stack import STACK_RULES

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

POLICIES: tuple[AnyRule, ...] = (
    *CHART_RULES,
    *STACK_RULES,
    *SCHEDULING_RULES,
    *(
        each
        for theme in (
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
        for each in theme.RULES
    ),
    EXEMPTIONS_IN_FORCE,
)
"""All rules."""
