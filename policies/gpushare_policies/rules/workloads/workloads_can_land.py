"""Pods that ask for GPUs land where those are."""

from __future__ import annotations

from pulumi_policy import Severity

from eks_gpushare.inventory.edges.amounts import TOO_MANY
from eks_gpushare.inventory.edges.claims import BAD_CONFIG, CLAIM_SHAPE, NO_CLAIM, NO_CLASS
from eks_gpushare.inventory.edges.landing import ELSEWHERE, NOT_ADVERTISED, PODS_KEPT_OUT
from eks_gpushare.inventory.edges.pinned import PINNED
from eks_gpushare.lint.rules.gpu_names import NO_SUCH_RESOURCE, OTHER_STRATEGY, RESOURCE_AS_LABEL
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackRule
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Write the workload under `workloads` in the stack file: its resource, tolerations and "
    "selector then come from its pool."
)
_RAW = "Ask for a resource that a pool advertises, tolerate its taints, and select its labels."

WORKLOADS_CAN_LAND = StackRule(
    "workloads-can-land",
    "Pods must ask for GPUs, by resources or claims, that a node they can be on has, and be let "
    "on the nodes that they select.",
    check=edge_check(
        NOT_ADVERTISED,
        PODS_KEPT_OUT,
        ELSEWHERE,
        TOO_MANY,
        NO_SUCH_RESOURCE,
        RESOURCE_AS_LABEL,
        OTHER_STRATEGY,
        NO_CLASS,
        NO_CLAIM,
        CLAIM_SHAPE,
        BAD_CONFIG,
        PINNED,
        stack_file=_STACK_FILE,
    ),
    applies_to=(*kinds.WORKLOADS, *kinds.NODES, *kinds.CHARTS),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
