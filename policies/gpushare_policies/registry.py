"""All rules of the pack, in the order of the documentation."""

from __future__ import annotations

from typing import TypeAlias

from gpushare_policies.access import ACCESS_RULES
from gpushare_policies.charts import CHART_RULES
from gpushare_policies.cluster import CLUSTER_RULES
from gpushare_policies.nodes import NODE_RULES
from gpushare_policies.rule import Rule, StackRule
from gpushare_policies.scheduling import SCHEDULING_RULES
from gpushare_policies.stack import STACK_RULES
from gpushare_policies.templates import TEMPLATE_RULES

AnyRule: TypeAlias = Rule | StackRule
"""A rule on a resource or on a stack."""

POLICIES: tuple[AnyRule, ...] = (
    *CLUSTER_RULES,
    *ACCESS_RULES,
    *NODE_RULES,
    *TEMPLATE_RULES,
    *CHART_RULES,
    *STACK_RULES,
    *SCHEDULING_RULES,
)
"""All rules."""
