"""Isolated tenants share no GPU."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Give the tenant a pool of MIG or of whole GPUs in the stack file."
_RAW = "Move the tenant to nodes of MIG or of whole GPUs."

TENANTS_SHARE_NO_GPU = StackPolicy(
    "tenants-share-no-gpu",
    "Tenants that are marked isolated must not take turns on GPUs with others.",
    check=edge_check("tenants-share-no-gpu", stack_file=_STACK_FILE),
    applies_to=(*kinds.WORKLOADS, "kubernetes:core/v1:Namespace", *kinds.NODES),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
