"""The device plugin runs on every GPU node."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading.edges import edge_check
from gpushare_policies.reading.nodes import NODE_TOKENS
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

STACK_FILE = (
    "A stack file tolerates its pools' taints: remove what overrides that under "
    "`charts.<chart>.values`, or manage these nodes as a pool."
)
_BOTH = (
    "Set the tolerations of both: `tolerations` and `nfd.worker.tolerations` of "
    "nvidia-device-plugin, `daemonsets.tolerations` and "
    "`node-feature-discovery.worker.tolerations` of gpu-operator. With nvidia-device-plugin, nodes "
    "with the label nvidia.com/gpu.present=true do without NFD."
)

GPU_STACK_TOLERATES_TAINTS = StackPolicy(
    "gpu-stack-tolerates-taints",
    "The device plugin and what it needs must run on every GPU node, whatever its taints.",
    check=edge_check("gpu-stack-tolerates-taints", stack_file=STACK_FILE),
    applies_to=(RELEASE, CHART_V4, *NODE_TOKENS),
    severity=Severity.HIGH,
    fix=Fix(STACK_FILE, _BOTH, _BOTH),
)
