"""The device plugin advertises the devices that MIG makes."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Set `pools.<pool>.sharing.strategy` in the stack file: `mixed` for several profiles, "
    "`single` for one."
)
_RAW = (
    "Set `flags.migStrategy` of the configuration, or `mig.strategy` of gpu-operator: `mixed` "
    "for several profiles, `single` for one."
)

MIG_STRATEGY_FITS = StackPolicy(
    "mig-strategy-fits",
    "The MIG strategy of the device plugin must fit the layout of the nodes.",
    check=edge_check("mig-strategy-fits", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
