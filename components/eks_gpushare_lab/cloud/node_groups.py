"""What EKS makes of a managed node group: the Auto Scaling group that its nodes come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare_lab.install.desired_cluster import NodePool

SCALING_GROUP = "lab.eks-gpushare/scaling-group"
"""Annotation of a node: the Auto Scaling group that has launched its machine."""

_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}


def scaling_group_of(pool: NodePool) -> str:
    """Name of the Auto Scaling group: what the stack was told when it made the node group."""
    return pool.scaling_group or f"eks-{pool.group}-{pool.cluster}"


def scaling_group_tags(pool: NodePool) -> dict[str, str]:
    """The tags that EKS gives the Auto Scaling group of each node group.

    By the first two Cluster Autoscaler finds the groups, by the last two it asks EKS about them.
    Tags of the node group are not handed on.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html (read
    2026-11-22).
    """
    return {
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{pool.cluster}": "owned",
        f"kubernetes.io/cluster/{pool.cluster}": "owned",
        "eks:cluster-name": pool.cluster,
        "eks:nodegroup-name": pool.group,
    }


def taints_of(pool: NodePool) -> list[dict[str, str]]:
    """Taints as EKS has them."""
    return [{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in pool.taints]
