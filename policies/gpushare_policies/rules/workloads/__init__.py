"""Rules on pods that use GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.workloads.budgets_let_nodes_go import BUDGETS_LET_NODES_GO
from gpushare_policies.rules.workloads.edges import EDGES
from gpushare_policies.rules.workloads.gpu_workloads_keep_pods import GPU_WORKLOADS_KEEP_PODS
from gpushare_policies.rules.workloads.pods_not_privileged import PODS_NOT_PRIVILEGED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    *EDGES,
    PODS_NOT_PRIVILEGED,
    GPU_WORKLOADS_KEEP_PODS,
    BUDGETS_LET_NODES_GO,
)
"""The rules of this theme: those that edges judge, and a module for each of the others."""
