"""Services and disruption budgets are of pods that are there."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "The Service and the budget of a stack file's workload select its pods: remove what changes "
    "that, such as a transform."
)
_RAW = "Select labels that the pods have, and a port that one of their containers names."

SERVICES_REACH_PODS = StackPolicy(
    "services-reach-pods",
    "Services and disruption budgets must select pods that are there.",
    check=edge_check("services-reach-pods", stack_file=_STACK_FILE),
    applies_to=(
        "kubernetes:core/v1:Service",
        "kubernetes:policy/v1:PodDisruptionBudget",
        *kinds.WORKLOADS,
    ),
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
