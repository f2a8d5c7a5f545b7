"""Values of charts do what they say."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Correct the key under `charts.<chart>.values` in the stack file."
_RAW = "Correct the key, or remove it: the chart does not look at it."

CHART_VALUES_KNOWN = StackPolicy(
    "chart-values-known",
    "Values of the charts of NVIDIA must be ones that the chart reads.",
    check=edge_check("chart-values-known", stack_file=_STACK_FILE),
    applies_to=kinds.CHARTS,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
