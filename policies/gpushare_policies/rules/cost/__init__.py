"""Rules on what the stack costs and how much of an account it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.cost.cost_within_budget import COST_WITHIN_BUDGET
from gpushare_policies.rules.cost.gpu_nodes_to_zero import GPU_NODES_TO_ZERO
from gpushare_policies.rules.cost.tags_required import TAGS_REQUIRED
from gpushare_policies.rules.cost.vcpus_within_quota import VCPUS_WITHIN_QUOTA

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    COST_WITHIN_BUDGET,
    VCPUS_WITHIN_QUOTA,
    TAGS_REQUIRED,
    GPU_NODES_TO_ZERO,
)
"""The rules of this theme, a module each."""
