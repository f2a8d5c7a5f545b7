"""What a NodePool asks for has an effect."""

from __future__ import annotations

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.edges.untold import UNTOLD_LABEL, UNTOLD_TAINT
from eks_gpushare.lint.rules.karpenter_pools import ANY_TYPE, IDLE_LIMIT, LATE_LABEL, UNSET_LABEL
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import FINDINGS, edge_check
from gpushare_policies.rule import StackRule
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Set `provisioner: karpenter` of a pool in the stack file, from which the objects are made."
)
_RAW = "Correct the requirement or limit as the message says."

KARPENTER_POOLS_EFFECTIVE = StackRule(
    "karpenter-pools-effective",
    "Requirements, limits, taints and labels of NodePools must be about what nodes have.",
    check=edge_check(
        UNSET_LABEL,
        LATE_LABEL,
        IDLE_LIMIT,
        ANY_TYPE,
        UNTOLD_TAINT,
        UNTOLD_LABEL,
        stack_file=_STACK_FILE,
        severities=FINDINGS,
    ),
    applies_to=kinds.KARPENTER,
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
