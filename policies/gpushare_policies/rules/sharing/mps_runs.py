"""MPS runs where it is asked for."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Set `pools.<pool>.sharing` to mps with at most 48 replicas in the stack file."
_RAW = (
    "Use MPS on whole GPUs with at most 48 replicas (16 below compute capability 7.5), with "
    "GPU feature discovery on."
)

MPS_RUNS = StackPolicy(
    "mps-runs",
    "GPUs that are shared by MPS must have its daemon, be whole, and serve no more pods than "
    "it can.",
    check=edge_check("mps-runs", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
