"""Nodes can run as many pods as they have shares."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Lower `pools.<pool>.sharing.replicas` in the stack file, or choose a larger instance type."
)
_RAW = "Lower `replicas`, or choose a larger instance type."

SHARES_WITHIN_REACH = StackPolicy(
    "shares-within-reach",
    "A node must not have more shares of GPUs than it can run pods, or has CPU and memory for.",
    check=edge_check("shares-within-reach", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.WORKLOADS),
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
