"""GPU nodes get a device plugin."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Declare the nodes as a pool in the stack file, which installs a device plugin."
_RAW = "Install the chart nvidia-device-plugin or gpu-operator for these nodes."

GPU_NODES_HAVE_DEVICE_PLUGIN = StackPolicy(
    "gpu-nodes-have-device-plugin",
    "GPU nodes must have a device plugin, or they advertise no GPU.",
    check=edge_check("gpu-nodes-have-device-plugin", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
