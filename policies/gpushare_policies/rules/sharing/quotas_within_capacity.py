"""Quotas of GPUs are about GPUs that there can be."""

from __future__ import annotations

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.edges.quotas import ABOVE_CAPACITY, PROMISED_TWICE, QUOTA_NAME
from eks_gpushare.lint.rules.kubernetes import COUNTS_NOTHING
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import FINDINGS, edge_check
from gpushare_policies.rule import StackRule
from gpushare_policies.words import Fix

_STACK_FILE = "Name the resource that the pool advertises; `eks-gpushare preview STACK` prints it."
_RAW = "Name the resource that nodes advertise, and no more of it than all nodes have."

QUOTAS_WITHIN_CAPACITY = StackRule(
    "quotas-within-capacity",
    "Quotas of GPUs must be on resources that nodes advertise, within what there can be.",
    check=edge_check(
        QUOTA_NAME,
        ABOVE_CAPACITY,
        PROMISED_TWICE,
        COUNTS_NOTHING,
        stack_file=_STACK_FILE,
        severities=FINDINGS,
    ),
    applies_to=(
        "kubernetes:core/v1:ResourceQuota",
        "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
        *kinds.NODES,
        *kinds.CHARTS,
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
