"""What a NodePool asks for has an effect."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Set `provisioner: karpenter` of a pool in the stack file, from which the objects are made."
)
_RAW = "Correct the requirement or limit as the message says."

KARPENTER_POOLS_EFFECTIVE = StackPolicy(
    "karpenter-pools-effective",
    "Requirements, limits, taints and labels of NodePools must be about what nodes have.",
    check=edge_check("karpenter-pools-effective", stack_file=_STACK_FILE),
    applies_to=kinds.KARPENTER,
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
