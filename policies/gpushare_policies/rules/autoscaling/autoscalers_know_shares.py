"""Autoscalers are told what nodes advertise."""

from __future__ import annotations

from pulumi_policy import Severity

from eks_gpushare.inventory.edges.promises import (
    NOT_PROMISED,
    NOT_TAKEN_BACK,
    PROMISE_DIFFERS,
    SAME_WEIGHT,
)
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackRule
from gpushare_policies.words import Fix

_STACK_FILE = "Declare the pool in the stack file, whose overlays and tags come from its sharing."
_RAW = (
    "Set the capacity of the NodeOverlay, or the tags of the node group, to what a node advertises."
)

AUTOSCALERS_KNOW_SHARES = StackRule(
    "autoscalers-know-shares",
    "NodeOverlays and tags for autoscalers must agree with what nodes will advertise.",
    check=edge_check(
        PROMISE_DIFFERS,
        NOT_PROMISED,
        SAME_WEIGHT,
        stack_file=_STACK_FILE,
        whatever=(NOT_TAKEN_BACK,),
    ),
    applies_to=(*kinds.NODES, *kinds.CHARTS, *kinds.KARPENTER[1:]),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
