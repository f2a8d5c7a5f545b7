"""Nodes have GPUs for their MIG layouts, and something that cuts them."""

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
_RAW = "Name a layout that the GPUs of the nodes can have, and run the MIG manager of gpu-operator."

MIG_LAYOUTS_FIT = StackPolicy(
    "mig-layouts-fit",
    "MIG layouts that nodes are to have must be there, fit on their GPUs, be applied, and be left "
    "alone.",
    check=edge_check("mig-layouts-fit", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
