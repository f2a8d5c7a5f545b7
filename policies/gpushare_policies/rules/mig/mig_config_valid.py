"""MIG layouts are ones that GPUs take."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Set `pools.<pool>.sharing.layout` in the stack file; `eks-gpushare mig layouts TYPE` "
    "lists what fits."
)
_RAW = (
    "Correct the configuration in the ConfigMap or in the values of the chart; `eks-gpushare "
    "mig layouts TYPE` lists what fits."
)

MIG_CONFIG_VALID = StackPolicy(
    "mig-config-valid",
    "Configurations of MIG must be ones that mig-parted takes, with layouts that fit on a GPU.",
    check=edge_check("mig-config-valid", stack_file=_STACK_FILE),
    applies_to=(*kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
