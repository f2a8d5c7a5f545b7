"""Node groups do not mix types with GPUs and without."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "List types with GPUs alone under `pools.<pool>.instanceTypes` in the stack file."
_RAW = "Make a node group of their own for types without GPUs."

GPU_NODE_TYPES_ALIKE = StackPolicy(
    "gpu-node-types-alike",
    "The instance types of a node group must have GPUs all, or none.",
    check=edge_check("gpu-node-types-alike", stack_file=_STACK_FILE),
    applies_to=kinds.NODES,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
