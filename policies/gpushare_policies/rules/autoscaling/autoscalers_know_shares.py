"""Autoscalers are told what nodes advertise."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Declare the pool in the stack file, whose overlays and tags come from its sharing."
_RAW = (
    "Set the capacity of the NodeOverlay, or the tags of the node group, to what a node advertises."
)

AUTOSCALERS_KNOW_SHARES = StackPolicy(
    "autoscalers-know-shares",
    "NodeOverlays and tags for autoscalers must agree with what nodes will advertise.",
    check=edge_check("autoscalers-know-shares", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.KARPENTER[1:]),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
