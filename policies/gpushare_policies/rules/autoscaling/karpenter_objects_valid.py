"""Karpenter takes its objects as they are meant."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Set `provisioner: karpenter` of a pool in the stack file, from which the objects are made."
)
_RAW = "Correct the object as the message says."

KARPENTER_OBJECTS_VALID = StackPolicy(
    "karpenter-objects-valid",
    "Objects of Karpenter must be of a version and shape that it serves, and do what they say.",
    check=edge_check("karpenter-objects-valid", stack_file=_STACK_FILE),
    applies_to=kinds.KARPENTER,
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
