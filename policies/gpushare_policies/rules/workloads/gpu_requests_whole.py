"""GPUs are asked for as Kubernetes gives them."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Write the workload under `workloads` in the stack file."
_RAW = (
    "Set a whole number under `resources.limits`, and the same or nothing under "
    "`resources.requests`."
)

GPU_REQUESTS_WHOLE = StackPolicy(
    "gpu-requests-whole",
    "Pods must ask for GPUs in whole numbers, under limits, and the same under requests.",
    check=edge_check("gpu-requests-whole", stack_file=_STACK_FILE),
    applies_to=kinds.WORKLOADS,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
