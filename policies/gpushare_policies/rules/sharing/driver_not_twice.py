"""GPU nodes get one driver."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Leave `charts.gpuOperator.values` without `driver` and `toolkit`: the library sets them "
    "for the AMI."
)
_RAW = (
    "With AMIs of EKS set `driver.enabled: false` and `toolkit.enabled: false` of gpu- "
    "operator; with others leave them on."
)

DRIVER_NOT_TWICE = StackPolicy(
    "driver-not-twice",
    "GPU nodes must get their driver and container toolkit from one source.",
    check=edge_check("driver-not-twice", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
