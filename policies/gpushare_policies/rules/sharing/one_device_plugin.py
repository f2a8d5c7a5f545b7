"""One program gives out the GPUs of a node."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Choose one `gpuStack.manager` in the stack file, and install no other device plugin for "
    "its pools."
)
_RAW = "Install one of the charts, or keep them apart by node selectors."

ONE_DEVICE_PLUGIN = StackPolicy(
    "one-device-plugin",
    "The GPUs of a node must be given out by one device plugin, or by a DRA driver.",
    check=edge_check("one-device-plugin", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
