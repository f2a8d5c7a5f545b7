"""Configurations of the device plugin are read by it."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Declare pools under `pools` in the stack file: the ConfigMap and what names it then come "
    "from one declaration."
)
_RAW = (
    "Name the ConfigMap in the values of the chart, and a key of it in its default or in the "
    "label of the nodes."
)

SHARING_CONFIG_TAKES_EFFECT = StackPolicy(
    "sharing-config-takes-effect",
    "A configuration that shares GPUs must be one that the device plugin reads.",
    check=edge_check("sharing-config-takes-effect", stack_file=_STACK_FILE),
    applies_to=(*kinds.CHARTS, *kinds.NODES, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
