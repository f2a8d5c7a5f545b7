"""Metrics and labels come from every GPU node."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Tolerate the taints of the pools in the values of the chart, under `charts.<chart>.values`."
)
_RAW = "Add tolerations of the taints of the GPU nodes."

GPU_MONITORING_REACHES_NODES = StackPolicy(
    "gpu-monitoring-reaches-nodes",
    "What tells of GPUs must run on every GPU node, whatever its taints.",
    check=edge_check("gpu-monitoring-reaches-nodes", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet"),
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
