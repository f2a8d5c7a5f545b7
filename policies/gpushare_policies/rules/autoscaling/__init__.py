"""Rules on what scales nodes and workloads, and what it is told of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.autoscaling.autoscalers_bounded import AUTOSCALERS_BOUNDED
from gpushare_policies.rules.autoscaling.cluster_autoscaler_agrees import CLUSTER_AUTOSCALER_AGREES
from gpushare_policies.rules.autoscaling.edges import EDGES
from gpushare_policies.rules.autoscaling.gpu_pool_budgets import GPU_POOL_BUDGETS
from gpushare_policies.rules.autoscaling.gpu_pools_not_consolidated import (
    GPU_POOLS_NOT_CONSOLIDATED,
)
from gpushare_policies.rules.autoscaling.karpenter_nodes_may_join import KARPENTER_NODES_MAY_JOIN
from gpushare_policies.rules.autoscaling.karpenter_settings_agree import KARPENTER_SETTINGS_AGREE
from gpushare_policies.rules.autoscaling.node_pool_limits import NODE_POOL_LIMITS
from gpushare_policies.rules.autoscaling.node_pools_have_classes import NODE_POOLS_HAVE_CLASSES
from gpushare_policies.rules.autoscaling.one_autoscaler_per_workload import (
    ONE_AUTOSCALER_PER_WORKLOAD,
)
from gpushare_policies.rules.nodes.gpu_taints import GPU_NODE_POOLS_TAINTED
from gpushare_policies.rules.nodes.image_pins import NODE_CLASS_AMI_PINNED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    *EDGES,
    AUTOSCALERS_BOUNDED,
    GPU_POOL_BUDGETS,
    GPU_POOLS_NOT_CONSOLIDATED,
    NODE_CLASS_AMI_PINNED,
    NODE_POOL_LIMITS,
    ONE_AUTOSCALER_PER_WORKLOAD,
    GPU_NODE_POOLS_TAINTED,
    NODE_POOLS_HAVE_CLASSES,
    KARPENTER_SETTINGS_AGREE,
    KARPENTER_NODES_MAY_JOIN,
    CLUSTER_AUTOSCALER_AGREES,
)
"""The rules of this theme: those that edges judge, and a module for each of the others."""
