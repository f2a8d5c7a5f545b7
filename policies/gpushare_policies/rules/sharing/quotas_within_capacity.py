"""Quotas of GPUs are about GPUs that there can be."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Name the resource that the pool advertises; `eks-gpushare preview STACK` prints it."
_RAW = "Name the resource that nodes advertise, and no more of it than all nodes have."

QUOTAS_WITHIN_CAPACITY = StackPolicy(
    "quotas-within-capacity",
    "Quotas of GPUs must be on resources that nodes advertise, within what there can be.",
    check=edge_check("quotas-within-capacity", stack_file=_STACK_FILE),
    applies_to=(
        "kubernetes:core/v1:ResourceQuota",
        "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
        *kinds.NODES,
        *kinds.CHARTS,
    ),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
