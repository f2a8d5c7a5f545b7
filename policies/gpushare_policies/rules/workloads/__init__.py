"""Rules on pods that use GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.workloads.budgets_let_nodes_go import BUDGETS_LET_NODES_GO
from gpushare_policies.rules.workloads.gpu_requests_whole import GPU_REQUESTS_WHOLE
from gpushare_policies.rules.workloads.gpu_workloads_keep_pods import GPU_WORKLOADS_KEEP_PODS
from gpushare_policies.rules.workloads.kubernetes_objects_valid import KUBERNETES_OBJECTS_VALID
from gpushare_policies.rules.workloads.mps_one_user import MPS_ONE_USER
from gpushare_policies.rules.workloads.one_share_per_container import ONE_SHARE_PER_CONTAINER
from gpushare_policies.rules.workloads.pods_not_privileged import PODS_NOT_PRIVILEGED
from gpushare_policies.rules.workloads.services_reach_pods import SERVICES_REACH_PODS
from gpushare_policies.rules.workloads.workloads_can_land import WORKLOADS_CAN_LAND

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    PODS_NOT_PRIVILEGED,
    WORKLOADS_CAN_LAND,
    GPU_REQUESTS_WHOLE,
    ONE_SHARE_PER_CONTAINER,
    MPS_ONE_USER,
    GPU_WORKLOADS_KEEP_PODS,
    BUDGETS_LET_NODES_GO,
    SERVICES_REACH_PODS,
    KUBERNETES_OBJECTS_VALID,
)
"""The rules of this theme, a module each."""
