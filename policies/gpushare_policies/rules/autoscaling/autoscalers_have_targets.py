"""Autoscalers of pods scale something that is there, by numbers that they get."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "The ScaledObject of a stack file's workload names it: remove what changes that, such as a "
    "transform."
)
_RAW = "Name the workload by kind and name in its namespace, and the triggers as the formula does."

AUTOSCALERS_HAVE_TARGETS = StackPolicy(
    "autoscalers-have-targets",
    "Autoscalers of pods must name a workload that is there, and queries about its pods.",
    check=edge_check("autoscalers-have-targets", stack_file=_STACK_FILE),
    applies_to=(
        "kubernetes:keda.sh/v1alpha1:ScaledObject",
        "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
        *kinds.WORKLOADS,
    ),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
