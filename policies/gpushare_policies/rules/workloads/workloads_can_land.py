"""Pods that ask for GPUs land where those are."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Write the workload under `workloads` in the stack file: its resource, tolerations and "
    "selector then come from its pool."
)
_RAW = "Ask for a resource that a pool advertises, tolerate its taints, and select its labels."

WORKLOADS_CAN_LAND = StackPolicy(
    "workloads-can-land",
    "Pods must ask for GPUs, by resources or claims, that a node they can be on has, and be let "
    "on the nodes that they select.",
    check=edge_check("workloads-can-land", stack_file=_STACK_FILE),
    applies_to=(*kinds.WORKLOADS, *kinds.NODES, *kinds.CHARTS),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
