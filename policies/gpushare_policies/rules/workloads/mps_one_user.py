"""Pods that share by MPS can do so at one time."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Give the workloads of one MPS pool one user, or pools of their own."
_RAW = (
    "Set one `securityContext.runAsUser` for all pods of a pool with MPS, and mount nothing "
    "at /dev/shm."
)

MPS_ONE_USER = StackPolicy(
    "mps-one-user",
    "Pods that share GPUs by MPS must run as one user and leave /dev/shm alone.",
    check=edge_check("mps-one-user", stack_file=_STACK_FILE),
    applies_to=(*kinds.WORKLOADS, *kinds.CHARTS),
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
