"""Containers get the GPUs that they ask for, and no others."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Nodes made from a stack file have it closed: remove what opens it, such as user data of "
    "your own."
)
_RAW = (
    "Set `accept-nvidia-visible-devices-envvar-when-unprivileged = false` in the user data of "
    "the nodes, and `deviceListStrategy: volume-mounts` of the device plugin."
)

VISIBLE_DEVICES_LEAK_CLOSED = StackPolicy(
    "visible-devices-leak-closed",
    "Containers must get GPUs by asking for them, and where tenants share nodes "
    "NVIDIA_VISIBLE_DEVICES must give none.",
    check=edge_check("visible-devices-leak-closed", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.WORKLOADS),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
