"""A container asks for one share."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Set `workloads.<workload>.shares: 1` in the stack file, or use a pool of MIG."
_RAW = "Ask for one; for more of a GPU use fewer replicas or a larger MIG profile."

ONE_SHARE_PER_CONTAINER = StackPolicy(
    "one-share-per-container",
    "Containers must ask for one share of a GPU that pods take turns on.",
    check=edge_check("one-share-per-container", stack_file=_STACK_FILE),
    applies_to=(*kinds.WORKLOADS, *kinds.CHARTS),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
