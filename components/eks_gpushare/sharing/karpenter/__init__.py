"""Pools of Karpenter's as documents: NodePool, EC2NodeClass, NodeOverlay, and the chart's values.

Karpenter launches a node for what it believes of one that is not there yet. So all that it is told
comes from the plan of the pool: what the nodes advertise, how they are labelled and tainted, and
how their GPUs are shared at boot.

Source: the CRDs of sigs.k8s.io/karpenter and github.com/aws/karpenter-provider-aws, v1.14.1.
"""

from eks_gpushare.sharing.karpenter.controller import (
    controller_resources,
    controller_values,
    feature_gates,
)
from eks_gpushare.sharing.karpenter.images import UnknownReleaseError
from eks_gpushare.sharing.karpenter.limits import limits_of
from eks_gpushare.sharing.karpenter.node_class import node_class, user_data_of
from eks_gpushare.sharing.karpenter.node_overlay import node_overlays, price_overlays

__all__ = (
    "UnknownReleaseError",
    "controller_resources",
    "controller_values",
    "feature_gates",
    "limits_of",
    "node_class",
    "node_overlays",
    "price_overlays",
    "user_data_of",
)
